"""What the tests of sweeps over several tasks share."""

import json
import os
import subprocess
import sys
import time

SHARDS = 8
# What differs between two runs of the same candidate.
FROM_RUN_TO_RUN = ("seconds", "timing", "build", "stages", "energy")


def rows(path):
    """The rows of a results file without what differs from run to run, in its order."""
    with open(path, encoding="utf-8") as file:
        records = json.load(file)["records"]
    return [json.dumps({key: value for key, value in record.items() if key not in FROM_RUN_TO_RUN})
            for record in records]


def expect(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def wait_for(condition, what, seconds=120):
    """Returns what `condition` gives once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.05)
    raise SystemExit(f"FAILED: after {seconds} s still waiting for {what}")


def call(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    print("$", " ".join(command), "->", done.returncode, flush=True)
    print(done.stdout, flush=True)
    return done


def journal_rows(part):
    """How many rows the journal of a shard's file has by now."""
    try:
        with open(part + ".journal", encoding="utf-8") as journal:
            return sum(line.startswith('{"record"') for line in journal)
    except OSError:
        return 0


def one_process(program, config, folder):
    """The rows that a run in one process has."""
    path = os.path.join(folder, "one.json")
    done = call([program, "verify", config, "-q", "-o", path])
    expect(done.returncode == 0, "the run in one process")
    return rows(path)


def expect_same_rows(whole, expected):
    found = rows(whole)
    expect(len(set(found)) == len(found), "a row is there twice")
    lost = [row for row in expected if row not in set(found)]
    expect(not lost, f"{len(lost)} rows are lost, the first is {lost[:1]}")
    expect(found == expected, "the merged rows are those of one process, in its order")
    print(f"{len(found)} rows, as in one process", flush=True)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)
