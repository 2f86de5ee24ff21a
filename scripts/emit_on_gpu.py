#!/usr/bin/env python3
"""Takes a record's candidate through `gla-bench emit` on a GPU, and holds it to the program itself.

    emit_on_gpu.py FILE#ROW WORK_FOLDER [--program build/gla-bench] [--most-slower 0.02]

1. emits the candidate, builds the folder with CMake, and runs its test;
2. gives the test's inputs to `gla-bench exec` and compares the outputs bit for bit;
3. times a call of the record's own sizes with cold caches, beside `gla-bench repeat` of the record.

Exit code 1 where the test fails, a bit differs (of a variant that is reproducible), or the emitted
launcher is slower than the record by more than --most-slower. 77 without a GPU. Bits may differ for
a reason that is no fault: nvcc compiles the emitted kernel and NVRTC the program's, and the two may
fuse other multiplications and additions. The test's bounds then say whether both are right.
"""

import argparse
import json
import pathlib
import shutil
import struct
import subprocess
import sys

DTYPES = {"float32": ("F32", 4), "bfloat16": ("BF16", 2), "float16": ("F16", 2), "int32": ("I32", 4)}
NOT_REPRODUCIBLE = {("backward", "flash2")}


def run(*command, may_fail=False):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done


def read_cases(golden):
    """The cases of golden/cases.txt: name, scale, shapes and input files."""
    cases = []
    for line in (golden / "cases.txt").read_text().splitlines():
        word, *rest = line.split()
        if word == "case":
            cases.append({"name": rest[0], "scale": None, "shapes": {}, "inputs": {}, "outputs": []})
        elif word == "scale":
            cases[-1]["scale"] = rest[0]
        elif word == "shape":
            cases[-1]["shapes"][rest[0]] = (rest[1], [int(extent) for extent in rest[2:]])
        elif word == "input":
            cases[-1]["inputs"][rest[0]] = golden / rest[1]
        elif word == "output":
            cases[-1]["outputs"].append(rest[0])
    return cases


def write_safetensors(path, case):
    header, data = {}, b""
    for name, file in case["inputs"].items():
        dtype, shape = case["shapes"][name]
        content = file.read_bytes()
        header[name] = {"dtype": DTYPES[dtype][0], "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    content = path.read_bytes()
    size, = struct.unpack_from("<Q", content)
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
            if name != "__metadata__"}


def exec_outputs(program, record, case, work):
    """The outputs of `gla-bench exec` for the case's inputs, as bytes in storage order."""
    given, got = work / f"{case['name']}.in.safetensors", work / f"{case['name']}.out.safetensors"
    write_safetensors(given, case)
    command = [program, "exec", given, "-o", got, "--backend", "cuda", "--operator",
               record["operator"], "--direction", record["direction"], "--variant",
               record["variant"], "--layout", record["layout"], "--scale", case["scale"]]
    for axis, value in record["tile"].items():
        command += ["--tile", f"{axis}={value}"]
    for name, value in (record.get("options") or {}).items():
        command += ["--option", f"{name}={value}"]
    if not record["final_state"]:
        command.append("--no-final-state")
    run(*command)
    return read_safetensors(got)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", help="FILE#ROW, the row counted from 1")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/gla-bench"))
    parser.add_argument("--most-slower", type=float, default=0.02)
    options = parser.parse_args()
    program, work = options.program.resolve(), options.work.resolve()
    file, _, row = options.record.rpartition("#")
    record = json.loads(pathlib.Path(file).read_text())["records"][int(row) - 1]
    shutil.rmtree(work, ignore_errors=True)
    folder = work / "emitted"
    print(run(program, "emit", options.record, "-o", folder).stdout, end="")

    run("cmake", "-S", folder, "-B", work / "build")
    run("cmake", "--build", work / "build")
    test = next((work / "build").glob("test_*"))
    outputs = work / "outputs"
    outputs.mkdir()
    tested = run(test, "--write", outputs, may_fail=True)
    print(tested.stdout, tested.stderr, sep="", end="")
    if tested.returncode != 0:
        sys.exit(tested.returncode)

    failed = False
    if (record["direction"], record["variant"]) in NOT_REPRODUCIBLE:
        print("bits are not compared: the variant's own last bits vary")
    else:
        for case in read_cases(folder / "golden"):
            expected = exec_outputs(program, record, case, work)
            for name in case["outputs"]:
                same = (outputs / f"{case['name']}.{name}.out").read_bytes() == expected[name]
                print(f"{case['name']} {name}: {'the bits' if same else 'OTHER BITS than those'} of "
                      "gla-bench exec")
                failed |= not same

    sizes = [f"{name}={value}" for name, value in record["shape"].items()]
    ours = float(run(test, "--time", *sizes).stdout.split()[0])
    repeated = json.loads(run(program, "repeat", options.record, "--backend", "cuda", "--json").stdout)
    theirs = repeated["timing"]["cold"]["median_ms"]
    print(f"emitted {ours:.4g} ms, gla-bench {theirs:.4g} ms: {ours / theirs:.3f}")
    if ours > theirs * (1 + options.most_slower):
        print(f"slower by more than {options.most_slower:.0%}")
        failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
