#!/usr/bin/env python3
"""A sweep of four ranks under mpirun has the rows of one process. One rank is killed in the middle: merge names what
is lost, and the same command once more completes it. By fixed shards, and handed out where gla-bench-mpi is built.

    mpi_test.py PROGRAM SOURCE_DIR [CONFIG]

Ends with 77 (skipped) where mpirun is missing."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from shard_sweep import call, expect, expect_same_rows, journal_rows, one_process, skip, wait_for

RANKS = 4
# Here are fewer cores than ranks, root may be the only user, and nothing but loopback is needed.
MPIRUN = ["mpirun", "-np", str(RANKS), "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader,tcp",
          "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"]


def processes(program, argument):
    """The processes of this program with that argument in their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().decode().split("\0")
        except OSError:
            continue
        if os.path.basename(words[0]) == os.path.basename(program) and argument in words:
            found.append(int(path.split("/")[2]))
    return found


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        words = dict(word.split("=", 1) for word in file.read().decode().split("\0") if "=" in word)
    return int(words["OMPI_COMM_WORLD_RANK"])


def sweep(program, config, folder):
    return MPIRUN + [program, "verify", config, "--shard", "auto", "-o", f"{folder}/part-{{shard}}.json", "--resume",
                     "-q"]


def busy_rank(killed_program, folder):
    """A process of a rank that has rows and is still at work."""
    for pid in processes(killed_program, f"{folder}/part-{{shard}}.json"):
        try:
            rank = rank_of(pid)
        except (OSError, KeyError):
            continue
        if journal_rows(f"{folder}/part-{rank + 1}.json") > 1:
            return pid, rank
    return None


def merge(program, folder):
    return call([program, "merge", *glob.glob(f"{folder}/part-*.json"), "-o", f"{folder}/whole.json", "--force"])


def killed_and_completed(program, started, config, folder, expected):
    """`started`: what mpirun starts, whose gla-bench is killed in one rank."""
    os.mkdir(folder)
    with subprocess.Popen(sweep(started, config, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as running:
        pid, rank = wait_for(lambda: busy_rank(program, folder), "a rank at work")
        os.kill(pid, signal.SIGKILL)
        print(f"killed rank {rank}", flush=True)
        print(running.communicate(timeout=120)[0], flush=True)
        expect(running.returncode != 0, "mpirun says that a rank was killed")
    lost = merge(program, folder)
    expect(lost.returncode == 1, "what is lost is no whole")
    expect(f"shard {rank + 1}/{RANKS} on " in lost.stdout, "the merge names the rank that was killed")
    expect("candidates are missing" in lost.stdout, "the merge names candidates")
    again = call(sweep(started, config, folder))
    expect(again.returncode == 0, "the same command once more")
    whole = merge(program, folder)
    expect(whole.returncode == 0, "the merge")
    expect_same_rows(f"{folder}/whole.json", expected)


def main():
    if shutil.which("mpirun") is None:
        skip("mpirun is not installed (Debian: openmpi-bin)")
    program, source = (os.path.abspath(path) for path in sys.argv[1:3])
    config = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else os.path.join(source, "tests/end_to_end/shards.json"))
    handing_out = program + "-mpi"
    with tempfile.TemporaryDirectory(prefix="gla-bench-mpi-") as scratch:
        expected = one_process(program, config, scratch)
        killed_and_completed(program, program, config, os.path.join(scratch, "fixed"), expected)
        if os.path.exists(handing_out):
            killed_and_completed(program, handing_out, config, os.path.join(scratch, "handed-out"), expected)
        else:
            print("handing out is left out: gla-bench-mpi is not built")


if __name__ == "__main__":
    main()
