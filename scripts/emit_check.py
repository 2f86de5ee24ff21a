#!/usr/bin/env python3
"""Emits a candidate of each CUDA variant and compiles it with nvcc, warnings being errors.

    emit_check.py PROGRAM NVCC WORK_FOLDER [--records FILE...] [--operators NAME...] [--compare N]

The candidates are the first measured row of each variant, operator and direction in the records,
those of attention with 512 tokens. Of N of them the machine code is compared, byte by byte, with
what nvcc makes of the text that the program itself compiles. (NVRTC often makes other code of the
same text: how often is printed.)
Needs no GPU. Exit code 1 where something does not compile, warns or differs.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = [ROOT / "results" / "h200" / name for name in (
    "headline.json", "gla.json", "decode.json", "attention.json", "attention_backward.json", "softmax.json")]
REFUSED = "cannot be emitted"
# Those whose machine code is compared first: bulk copies, walks over chunks, splits, rows.
COMPARED_FIRST = ["chunk_sm90", "flash2", "online_blocked"]
MOST_TOKENS = 512  # of a sequence of attention
# Of all sequences and heads. The test of a launcher that takes its record's problem alone has all of it.
MOST_ROWS = 200_000


def text_sections(elf):
    """The machine code of each kernel of a cubin, by the kernel's name."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    names = headers[names_at][4]

    def name_of(header):
        begin = names + header[0]
        return elf[begin:elf.index(b"\0", begin)].decode()

    return {name_of(h)[6:]: elf[h[4]:h[4] + h[5]] for h in headers
            if name_of(h).startswith(".text.")}


def rows_of(shape):
    """Rows of the tensors of attention that is emitted for a shape."""
    return shape["batch"] * min(shape["seq"], MOST_TOKENS) * shape["heads"]


def chosen_rows(files, operators):
    """(file, row number, record) of one candidate of each variant."""
    seen, rows = set(), []
    for file in files:
        for number, record in enumerate(json.loads(file.read_text())["records"], 1):
            key = (record["operator"], record["direction"], record["variant"])
            if record["backend"] != "cuda" or record["status"] != "measured":
                continue
            if record.get("peer") or key in seen or record["operator"] not in operators:
                continue
            if "attention" in record["operator"] and rows_of(record["shape"]) > MOST_ROWS:
                continue
            seen.add(key)
            rows.append((file, number, record))
    return rows


def with_fewer_tokens(row, folder):
    """The row, of a results file of its own where it is attention to many tokens. An emitted test has
    results in float64, which take a minute for 4,096 tokens. The kernel's text is the same for 512."""
    file, _, record = row
    if "attention" not in record["operator"] or record["shape"]["seq"] <= MOST_TOKENS:
        return row
    record = {**record, "shape": {**record["shape"], "seq": MOST_TOKENS}}
    alone = folder / "record.json"
    alone.write_text(json.dumps({**json.loads(file.read_text()), "records": [record]}))
    return alone, 1, record


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def config_of(record):
    """A config whose only candidate is the record's."""
    sweep = {"operator": record["operator"], "variants": [record["variant"]],
             "direction": record["direction"], "dtypes": [record["dtype"]],
             "layouts": [record["layout"]], "gates": [record["gate"]], "shapes": [record["shape"]],
             "tiles": {record["variant"]: {axis: [value] for axis, value in record["tile"].items()}},
             "rare_tiles": True,
             "initial_state": [record["initial_state"]], "final_state": [record["final_state"]]}
    if record.get("options"):
        sweep["options"] = {name: [value] for name, value in record["options"].items()}
    return {"sweeps": [sweep]}


def machine_code_of_unit(program, nvcc, record, folder):
    """The kernels of the text that the program compiles, by nvcc and by NVRTC: (code, code), or what
    went wrong."""
    config, cache, units = folder / "config.json", folder / "cache", folder / "units"
    config.write_text(json.dumps(config_of(record)))
    made = run([program, "compile", config, "--arch", "sm_90a", "--cache-dir", cache, "--emit", units])
    if made.returncode != 0:
        return made.stdout + made.stderr
    entries, texts = list(cache.glob("*.bin")), list(units.glob("*.cu"))
    if len(entries) != 1 or len(texts) != 1:
        return f"{len(entries)} binaries of {len(texts)} texts, expected one candidate"
    cubin = folder / "unit.cubin"
    made = run([nvcc, "-cubin", "-gencode=arch=compute_90a,code=sm_90a", "-I", ROOT / "kernels", "-I",
                ROOT, texts[0], "-o", cubin])
    if made.returncode != 0:
        return made.stdout + made.stderr
    entry = entries[0].read_bytes()
    return text_sections(cubin.read_bytes()), text_sections(entry[entry.index(b"\x7fELF"):])


def judge(program, nvcc, work, row, compare):
    """What is wrong with one candidate, or what was found."""
    record = row[2]
    label = f"{record['operator']} {record['direction']} {record['variant']}"
    folder = work / label.replace(" ", "-")
    folder.mkdir(parents=True)
    file, number, record = with_fewer_tokens(row, folder)
    emitted = run([program, "emit", f"{file}#{number}", "-o", folder, "--golden-bytes", "1e9"])
    if emitted.returncode == 2 and REFUSED in emitted.stderr:
        return label, "refused", True
    if emitted.returncode != 0:
        return label, emitted.stderr, False
    source = next(file for file in folder.glob("*.cu") if not file.name.startswith("test_"))
    kept = folder / "kept"
    kept.mkdir()
    # -arch=sm_90a is what users write. With it nvcc may also ask for code of compute_90, which takes
    # longer, so that only the compared ones are compiled so.
    architecture = "-arch=sm_90a" if compare else "-gencode=arch=compute_90a,code=sm_90a"
    made = run([nvcc, architecture, "-Werror", "all-warnings", "-Xcompiler", "-Wall", "--keep",
                "--keep-dir", kept, "-c", source, "-o", folder / "kernel.o"], cwd=folder)
    if made.returncode != 0 or made.stderr.strip():
        return label, made.stdout + made.stderr, False
    if not compare:
        return label, "compiles", True
    made = run([nvcc, "-std=c++17", "-Xcompiler", "-Wall,-Wextra,-Werror", '-DGOLDEN_FOLDER="golden"', "-c",
                next(folder.glob("test_*.cu")), "-o", folder / "test.o"])
    if made.returncode != 0:
        return label, made.stdout + made.stderr, False
    ours = text_sections(next(kept.glob("*.sm_90a.cubin")).read_bytes())
    unit = machine_code_of_unit(program, nvcc, record, folder)
    if isinstance(unit, str):
        return label, unit, False
    return (label, *compared_code(ours, *unit))


def compared_code(ours, theirs, nvrtc):
    """(what was found, whether it is right) of the machine code of kernels by name."""
    if ours.keys() != theirs.keys():
        return f"kernels {sorted(ours)}, the program has {sorted(theirs)}", False
    differ = [name for name in ours if ours[name] != theirs[name]]
    if differ:
        return f"other machine code than of the program's own text: {', '.join(differ)}", False
    same = sum(ours[name] == nvrtc.get(name) for name in ours)
    return (f"the {sum(map(len, ours.values()))} bytes of machine code that nvcc makes of the "
            f"program's own text; {same} of {len(ours)} kernels as NVRTC has them"), True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("nvcc", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--records", type=pathlib.Path, nargs="+", default=RECORDS)
    parser.add_argument("--operators", nargs="+", default=["gla", "attention", "softmax"])
    parser.add_argument("--compare", type=int, default=len(COMPARED_FIRST))
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    work = options.work.resolve()
    program = options.program.resolve()
    rows = chosen_rows(options.records, options.operators)
    if not rows:
        sys.exit("the records have no candidate to emit")
    rank = {name: place for place, name in enumerate(COMPARED_FIRST)}
    rows.sort(key=lambda row: rank.get(row[2]["variant"], len(rank)))
    compared = {id(row) for row in rows[:options.compare]}

    def work_on(row):
        return judge(program, options.nvcc, work, row, id(row) in compared)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for label, found, good in pool.map(work_on, rows):
            print(f"{label}: {found}")
            failed += not good
    if failed:
        sys.exit(f"{failed} of {len(rows)} candidates failed; what was written is in {work}")


if __name__ == "__main__":
    main()
