#!/usr/bin/env python3
"""A sweep through a real Slurm of four nodes has the rows of one process, although one node dies in the
middle, one task is requeued while it runs, and one shard's disk is full.

    slurm_test.py PROGRAM SOURCE_DIR [CONFIG]

Ends with 77 (skipped) where Slurm or root is missing."""

import os
import subprocess
import sys
import tempfile

from shard_sweep import SHARDS, call, expect, expect_same_rows, journal_rows, one_process, wait_for

FULL = 3  # the shard whose disk is full
SWEEP_SECONDS = 1500  # a whole configs/ci.json on a busy machine


def jobs():
    """The array's tasks that have not ended: {shard: (state, node)}."""
    text = subprocess.run(["squeue", "-h", "-r", "-o", "%K %T %N"], capture_output=True, text=True, check=False).stdout
    lines = [line.split(" ") for line in text.splitlines()]
    return {int(task): (state, node) for task, state, node in lines if task.isdigit()}


def queue_is_empty():
    # What was requeued waits until its old credential has expired, and what depends on an array for the next pass.
    # A busy controller does not answer in time: that is no empty queue.
    queue = subprocess.run(["squeue", "-h"], capture_output=True, text=True, check=False)
    return queue.returncode == 0 and not queue.stdout.strip()


def held_program(program, scratch):
    """A program that stops in the middle of a shard until the file that is returned with it exists: a shard takes
    a second, and the test must find it at work."""
    path, released = os.path.join(scratch, "held"), os.path.join(scratch, "released")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/usr/bin/env bash
# verify CONFIG --shard auto -o FOLDER/part-{{shard}}.json ...
journal=${{6/'{{shard}}'/$SLURM_ARRAY_TASK_ID}}.journal
{program} "$@" &
child=$!
until grep -qs '^{{"record"' "$journal" || ! kill -0 $child 2>/dev/null; do sleep 0.02; done
kill -STOP $child 2>/dev/null
until [[ -e {released} ]]; do sleep 0.1; done
kill -CONT $child 2>/dev/null
wait $child
""")
    os.chmod(path, 0o755)
    return path, released


def sweep(program, source, config, folder):
    done = call([os.path.join(source, "scripts/slurm/sweep.sh"), config, str(SHARDS), "-o", folder, "-c", "verify",
                 "-p", program])
    expect(done.returncode == 0, "sweep.sh")
    return done.stdout.split()[1]


def log(folder, name):
    with open(os.path.join(folder, "log", name), encoding="utf-8") as file:
        return file.read()


def running(folder, without=()):
    """A shard that has rows and is still at work: (shard, node)."""
    for shard, (state, node) in jobs().items():
        if state == "RUNNING" and shard not in (FULL, *without) and journal_rows(f"{folder}/part-{shard}.json") > 0:
            return shard, node
    return None


def full_disk(folder, scratch):
    """Puts one shard's file on a disk that is too small; None where nothing may be mounted."""
    disk = os.path.join(scratch, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", disk], check=False).returncode != 0:
        print("the full disk is left out: nothing may be mounted here")
        return None
    os.symlink(os.path.join(disk, "part.json"), f"{folder}/part-{FULL}.json")
    return disk


def inside(program, source, config, scratch):
    expected = one_process(program, config, scratch)
    folder = os.path.join(scratch, "sweep")
    os.mkdir(folder)
    disk = full_disk(folder, scratch)
    held, released = held_program(program, scratch)
    try:
        array = sweep(held, source, config, folder)
        killed, node = wait_for(lambda: running(folder), "a task at work")
        subprocess.run([os.environ["TESTBED"] + "/kill-node", node], check=True)
        print(f"killed {node} with shard {killed}", flush=True)
        requeued, _ = wait_for(lambda: running(folder, [killed]), "another task at work")
        subprocess.run(["scontrol", "requeue", f"{array}_{requeued}"], check=True)
        print(f"requeued shard {requeued}", flush=True)
        with open(released, "w", encoding="utf-8"):
            pass
        wait_for(queue_is_empty, "the sweep", SWEEP_SECONDS)
        for shard in (killed, requeued):
            text = log(folder, f"part-{shard}.txt")
            print(text, flush=True)
            expect("restart 1: begins" in text, f"shard {shard} was begun again")
        print(log(folder, "merge.txt"), flush=True)
        if disk:
            expect("exit code 5" in log(folder, f"part-{FULL}.txt"), "the full disk ends its task")
            expect(f"shard {FULL}/{SHARDS} on" in log(folder, "merge.txt"), "the merge names the shard that is missing")
            expect(not os.path.exists(f"{folder}/whole.json"), "nothing is written that is not whole")
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            sweep(program, source, config, folder)
            wait_for(queue_is_empty, "the second sweep", SWEEP_SECONDS)
            print(log(folder, f"part-{FULL}.txt"), log(folder, "merge.txt"), flush=True)
        expect_same_rows(f"{folder}/whole.json", expected)
    finally:
        subprocess.run(["scancel", "--user", "root"], check=False)
        if disk:
            subprocess.run(["umount", "-l", disk], check=False)


def main():
    if sys.argv[1] == "--inside":
        program, source, config = sys.argv[2:5]
        with tempfile.TemporaryDirectory(prefix="gla-bench-sweep-") as scratch:
            inside(program, source, config, scratch)
        return 0
    program, source = (os.path.abspath(path) for path in sys.argv[1:3])
    config = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else os.path.join(source, "tests/end_to_end/shards.json"))
    testbed = os.path.join(source, "scripts/slurm/testbed.sh")
    return subprocess.run([testbed, "--nodes", "4", sys.executable, os.path.abspath(__file__), "--inside", program,
                           source, config], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
