#!/usr/bin/env python3
"""What `gla-bench export --flashinfer` writes is a data set of flashinfer-bench, by the package's own
models, and the references of its definitions compute what this program does.

    flashinfer_test.py PROGRAM SOURCE_DIR PACKAGES

PACKAGES holds flashinfer_bench and pydantic, as scripts/setup.sh installs them. The models are loaded
without the rest of the package, which needs PyTorch. Skipped by name (77) where they are not there.
"""

import importlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import types

program, source, packages = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
sys.path.insert(0, str(packages))
try:
    import numpy
    import pydantic  # noqa: F401
    root = packages / "flashinfer_bench"
    if not (root / "data" / "trace.py").exists():
        raise ImportError(f"no flashinfer_bench in {packages}")
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

for name, folder in (("flashinfer_bench", root), ("flashinfer_bench.data", root / "data")):
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
Definition = importlib.import_module("flashinfer_bench.data.definition").Definition
Solution = importlib.import_module("flashinfer_bench.data.solution").Solution
Trace = importlib.import_module("flashinfer_bench.data.trace").Trace


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def run(*command):
    done = subprocess.run([program, *map(str, command)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Array(numpy.ndarray):
    """As much of a tensor of PyTorch as the references use."""
    device = "cpu"
    dtype_of = None

    def float(self):
        return self.astype(numpy.float32).view(Array)

    def to(self, dtype_or_device):
        return self if dtype_or_device == "cpu" else self.astype(dtype_or_device).view(Array)

    def masked_fill(self, mask, value):
        return numpy.where(mask, numpy.float32(value), self).view(Array)


def array(values):
    return numpy.asarray(values).view(Array)


def softmax(x, axis):
    with numpy.errstate(invalid="ignore"):
        weights = numpy.exp(x - x.max(axis, keepdims=True))
        return array(weights / weights.sum(axis, keepdims=True))


torch = types.ModuleType("torch")
torch.float32 = numpy.float32
torch.softmax = softmax
torch.exp = lambda x: array(numpy.exp(x))
torch.einsum = lambda text, *operands: array(numpy.einsum(text, *operands))
torch.stack = lambda rows, axis: array(numpy.stack(rows, axis))
torch.arange = lambda count: array(numpy.arange(count))
torch.nan_to_num = lambda x, nan: array(numpy.nan_to_num(x, nan=nan))
torch.repeat_interleave = lambda x, count, axis: array(numpy.repeat(x, count, axis))
torch.zeros = lambda shape, dtype, device: array(numpy.zeros(shape, dtype))
sys.modules["torch"] = torch


def read_safetensors(path):
    content = path.read_bytes()
    size, = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    return {name: numpy.frombuffer(content[8 + size:][slice(*entry["data_offsets"])], "<f4")
            .reshape(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        content = numpy.ascontiguousarray(values, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


SMALL = {"batch": 2, "seq": 9, "heads": 4, "key_dim": 8, "value_dim": 6, "key_seq": 12,
         "key_heads": 2, "columns": 20}


def small_record(record):
    """The record on a small problem in float32, as if it had been measured there."""
    small = json.loads(json.dumps(record))
    small["dtype"] = "float32"
    small["shape"] = {name: SMALL[name] for name in small["shape"]}
    small["options"] = {}
    return small


def check_reference(folder, work, definition, workload):
    """The definition's reference beside `gla-bench exec` on the host."""
    random = numpy.random.default_rng(1)
    inputs = {}
    blobs = {}
    for name, spec in definition.inputs.items():
        given = workload.inputs[name]
        if given.type == "scalar":
            continue
        shape = [definition.axes[axis].value if definition.axes[axis].type == "const"
                 else workload.axes[axis] for axis in spec.shape]
        if given.type == "safetensors":
            blobs = blobs or read_safetensors(folder / given.path)
            inputs[name] = blobs[given.tensor_key]
            expect(list(inputs[name].shape) == shape, f"{definition.name}: the shape of {name}")
        else:
            inputs[name] = random.standard_normal(shape, numpy.float32)
    write_safetensors(work / "in.safetensors", inputs)
    code, text = run("exec", work / "in.safetensors", "-o", work / "out.safetensors", "--backend",
                     "host", "--operator", definition.op_type, "--variant",
                     {"softmax": "three_pass", "attention": "materialized"}.get(
                         definition.op_type, "recurrent"))
    expect(code == 0, text)
    expected = read_safetensors(work / "out.safetensors")
    scope = {}
    exec(definition.reference, scope)  # pylint: disable=exec-used
    got = scope["run"](*(array(inputs[name]) for name in inputs), workload.inputs["scale"].value)
    got = got if isinstance(got, tuple) else (got,)
    expect(len(got) == len(definition.outputs), f"{definition.name}: the outputs' number")
    for name, values in zip(definition.outputs, got):
        error = numpy.linalg.norm(values - expected[name]) / numpy.linalg.norm(expected[name])
        expect(error < 1e-5, f"{definition.name}: {name} is off by {error}")


def check_dataset(folder, work, with_references):
    definitions = {}
    for path in folder.glob("definitions/**/*.json"):
        definition = Definition.model_validate_json(path.read_text())
        definitions[definition.name] = definition
    solutions = {}
    for path in folder.glob("solutions/**/*.json"):
        solution = Solution.model_validate_json(path.read_text())
        expect(solution.definition in definitions, f"{path}: its definition")
        solutions[solution.name] = solution
    workloads = {}
    for path in folder.glob("workloads/**/*.jsonl"):
        for line in path.read_text().splitlines():
            trace = Trace.model_validate_json(line)
            expect(trace.is_workload_trace(), f"{path}: a workload and nothing else")
            definition = definitions[trace.definition]
            expect(trace.workload.uuid not in workloads, f"{path}: two of a UUID")
            expect(list(trace.workload.inputs) == list(definition.inputs), f"{path}: the inputs")
            definition.get_input_shapes(trace.workload.axes)
            workloads[trace.workload.uuid] = trace
            if with_references:
                check_reference(folder, work, definition, trace.workload)
    traces = 0
    for path in folder.glob("traces/**/*.jsonl"):
        for line in path.read_text().splitlines():
            trace = Trace.model_validate_json(line)
            expect(trace.is_successful(), f"{path}: passed")
            expect(trace.workload == workloads[trace.workload.uuid].workload, f"{path}: workload")
            expect(solutions[trace.solution].definition == trace.definition, f"{path}: solution")
            traces += 1
    expect(definitions and workloads, "there are definitions and workloads")
    return definitions, solutions, workloads, traces


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    # The committed winners, without the large files.
    code, text = run("export", source / "results/h200/headline.json", "--flashinfer", work / "h200",
                     "--most-bytes", "2e6")
    expect(code == 0, text)
    found = check_dataset(work / "h200", work, False)
    expect(found[1] and found[3], f"solutions and traces: {text}")

    # Definitions of every operator, in float32 and small, whose references can be run here.
    records, seen = [], set()
    files = ("headline.json", "attention.json", "softmax.json", "linear_recurrence.json")
    results = {}
    for file in files:
        results = json.loads((source / "results/h200" / file).read_text())
        for record in results["records"]:
            key = record["operator"]
            if record["status"] != "measured" or record.get("peer") or key in seen:
                continue
            if record["direction"] != "forward" or record.get("options") or \
                    "sequences" in record["shape"] or record["layout"] != "seq_first":
                continue
            seen.add(key)
            records.append(small_record(record))
    (work / "small.json").write_text(json.dumps(dict(results, records=records)))
    code, text = run("export", work / "small.json", "--flashinfer", work / "small")
    expect(code == 0, text)
    definitions = check_dataset(work / "small", work, True)[0]
    names = {definition.op_type for definition in definitions.values()}
    expect({"gla", "rwkv6", "retention", "simple_gla", "linear_attention", "attention",
            "softmax"} <= names, f"operators: {sorted(names)}")

    code, text = run("export", work / "small.json", "--flashinfer", work / "small")
    expect(code == 2 and "is not empty" in text, f"a folder that is there: {text}")
    code, text = run("export", work / "small.json")
    expect(code == 2, f"no format: {text}")

    # A definition that is none is told apart.
    wrong = json.loads(next((work / "small").glob("definitions/**/*.json")).read_text())
    del wrong["reference"]
    try:
        Definition.model_validate(wrong)
        sys.exit("failed: a definition without a reference is taken")
    except pydantic.ValidationError:
        pass
print(f"{len(definitions)} references and {len(found[0])} definitions, {len(found[1])} solutions, "
      f"{found[3]} traces of the committed records")
