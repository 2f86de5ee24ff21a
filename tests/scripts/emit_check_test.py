#!/usr/bin/env python3
"""scripts/emit_check.py finds planted faults: other machine code, missing kernels, a compiler that
warns. Usage: emit_check_test.py SOURCE_DIR"""

import json
import pathlib
import stat
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "scripts"))
import emit_check  # noqa: E402

CODE = {"f": b"\1\2", "g": b"\3"}


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def program_that(folder, name, text):
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


found, right = emit_check.compared_code(CODE, dict(CODE), {"f": b"\1\2", "g": b"\4"})
expect(right and "1 of 2 kernels as NVRTC" in found, found)
found, right = emit_check.compared_code(CODE, {"f": b"\1\2", "g": b"\4"}, CODE)
expect(not right and found.endswith(": g"), found)
found, right = emit_check.compared_code({"f": b"\1\2"}, CODE, CODE)
expect(not right and "'g'" in found, found)

with tempfile.TemporaryDirectory() as name:
    records = [{"operator": "attention", "direction": "backward", "variant": "v", "backend": "cuda",
                "status": "measured", "shape": {"batch": batch, "seq": 4096, "heads": 8}}
               for batch in (100, 4, 2)]
    file = pathlib.Path(name, "records.json")
    file.write_text(json.dumps({"records": records}))
    expect([row[1] for row in emit_check.chosen_rows([file], ["attention"])] == [2],
           "of a variant's rows of attention the first one that is not too large is taken")

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    record = {"operator": "gla", "direction": "forward", "variant": "v", "backend": "cuda",
              "status": "measured"}
    records = folder / "r.json"
    records.write_text(json.dumps({"records": [dict(record, status="rejected"), record, record]}))
    rows = emit_check.chosen_rows([records], ["gla"])
    expect([row[1] for row in rows] == [2], "the first measured row of a variant")
    expect(not emit_check.chosen_rows([records], ["softmax"]), "other operators are left out")
    long = dict(record, operator="decay_attention", shape={"seq": 4096, "key_seq": 8192})
    file, number, short = emit_check.with_fewer_tokens((records, 2, long), folder)
    expect(number == 1 and json.loads(file.read_text())["records"] == [short], "a file of one row")
    expect(short == dict(long, shape={"seq": 512, "key_seq": 8192}), "512 tokens, and all else as it was")
    for kept in (dict(long, shape={"seq": 64}), dict(long, operator="gla")):
        expect(emit_check.with_fewer_tokens((records, 2, kept), folder) == (records, 2, kept), "a short row")
    emits = program_that(folder, "emits", 'touch "$4/k.cu"\n')
    quiet = program_that(folder, "quiet", "exit 0\n")
    warns = program_that(folder, "warns", "echo 'warning: x' >&2\n")
    fails = program_that(folder, "fails", "exit 1\n")
    for nvcc, good in ((quiet, True), (warns, False), (fails, False)):
        label, found, right = emit_check.judge(emits, nvcc, folder / f"of-{nvcc.name}", rows[0], False)
        expect(right == good, f"{nvcc.name}: {found}")
    label, found, right = emit_check.judge(fails, quiet, folder / "w2", rows[0], False)
    expect(not right, "an emit that fails")
print("all planted faults are found")
