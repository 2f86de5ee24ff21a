"""Runs the unit tests of one folder, or all that need a GPU, as one entry of ctest.

    run_tests.py PROGRAM FOLDER [--shard I/N]    the tests of tests/FOLDER and below, without Gpu*
    run_tests.py PROGRAM --gpu                   the suites named Gpu..., wherever they are

What passes stays silent. A case that ends the program, or takes longer than --seconds, is named and
counts as failed; the cases behind it run in a new process. Exit code: 0, 1 where a case failed, 77
where every case was skipped.
"""

import argparse
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading

MARK = re.compile(r"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)")
SKIPPED = 77


def all_cases(program, folder):
    """Every case of the program: its name and the path of its source below tests/."""
    listing = folder / "list.json"
    subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{listing}"], check=True,
                   stdout=subprocess.DEVNULL)
    for suite in json.loads(listing.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            yield suite["name"], case["name"], case["file"].rpartition("/tests/")[2]


def chosen_cases(arguments, folder):
    names = []
    for suite, case, path in all_cases(arguments.program, folder):
        needs_gpu = any(part.startswith("Gpu") for part in suite.split("/"))
        here = arguments.gpu or path.startswith(arguments.folder + "/")
        if needs_gpu == arguments.gpu and here and not case.startswith("DISABLED_"):
            names.append(f"{suite}.{case}")
    index, count = (int(part) for part in arguments.shard.split("/"))
    return names[index - 1::count]


def start(program, names, folder):
    """Starts the program on these cases, and a thread that puts its lines into a queue."""
    flags = folder / "flags"
    flags.write_text("--gtest_filter=" + ":".join(names) + "\n")
    process = subprocess.Popen([program, f"--gtest_flagfile={flags}", "--gtest_color=no"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace")
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return process, lines


def how_it_ended(code):
    return f"signal {-code}" if code < 0 else f"exit code {code}"


class Outcome:
    """What became of each case so far."""

    def __init__(self):
        self.passed, self.skipped, self.failed = [], [], []

    def ended(self):
        return {*self.passed, *self.skipped, *self.failed}

    def take(self, mark, name, text):
        """Notes how a case ended; says so with what it printed unless it passed."""
        if mark == "OK":
            self.passed.append(name)
            return
        (self.skipped if mark == "SKIPPED" else self.failed).append(name)
        print(f"{mark} {name}\n{''.join(text)}", end="", flush=True)


def run(arguments, names, folder, outcome):
    """One process, up to its end. Whether every case had its turn."""
    process, lines = start(arguments.program, names, folder)
    failed_before = len(outcome.failed)
    current, text = None, []
    late = False
    while True:
        try:
            line = lines.get(timeout=arguments.seconds)
        except queue.Empty:
            late = True
            process.kill()
            break
        if line is None:
            break
        found = MARK.search(line)
        if found and found[1].strip() == "RUN":
            current, text = found[2], []
        elif found and found[2] == current:
            outcome.take(found[1].strip(), current, text)
            current, text = None, []
        else:
            text.append(line)
    code = process.wait()
    if current is not None:
        end = f"no line for {arguments.seconds} s" if late else how_it_ended(code)
        outcome.take(f"FAILED ({end})", current, text)
    elif code != 0 and len(outcome.failed) == failed_before:
        outcome.take(f"FAILED ({how_it_ended(code)})", "outside of the cases", text)
    return not (set(names) - outcome.ended())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--shard", default="1/1", help="every Nth case, from the Ith (1 is first)")
    parser.add_argument("--seconds", type=int, default=300)
    arguments = parser.parse_args()

    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        names = chosen_cases(arguments, pathlib.Path(folder))
        left = names
        while left and not run(arguments, left, pathlib.Path(folder), outcome):
            remaining = [name for name in left if name not in outcome.ended()]
            if len(remaining) == len(left):
                outcome.failed += left
                print(f"FAILED: the program ends before {left[0]}")
                break
            left = remaining
    print(f"{len(outcome.passed)} passed, {len(outcome.skipped)} skipped,"
          f" {len(outcome.failed)} failed: {' '.join(outcome.failed)}")
    if outcome.failed or not names:
        return 1
    return SKIPPED if len(outcome.skipped) == len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
