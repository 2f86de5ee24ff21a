"""Solutions of flashinfer-bench as candidates.

    python -m gla_bench.flashinfer SOLUTION.json --definition DEFINITION.json -o my_folder
    gla-bench run my_folder/config.json

A folder is written: the solution's sources, a file that calls its entry point, the manifest of that function
(docs/candidates.md) and, for `--workloads FILE.jsonl`, a config with the problems. A solution in Python, Triton or
TileLang is imported as it is. One in C++ or CUDA is compiled here and now, by the package that its binding names.

The definition has to be of an operator of this program: one that `gla-bench export --flashinfer` writes, or
`gqa_ragged` with a causal mask, which is attention with few key heads.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from gla_bench._errors import InputError
from gla_bench._program import call

Path = Union[str, "os.PathLike[str]"]
_IMPORTED = ("python", "triton", "tilelang")
_COMPILED = ("cuda", "cpp")
_DTYPES = ("float32", "bfloat16", "float16")
_INPUT_ERROR = 2


def _wrong(place: str, found: Any, expected: str) -> InputError:
    text = json.dumps(found)
    return InputError(f"{place}: found {text if len(text) <= 80 else text[:77] + '...'}, expected {expected}",
                      _INPUT_ERROR, "")


class _Node:
    """A JSON value with the file and the pointer where it stands."""

    def __init__(self, value: Any, file: str, pointer: str = "") -> None:
        self.value, self.file, self.pointer = value, file, pointer

    def fail(self, expected: str) -> InputError:
        return _wrong(f"{self.file}: {self.pointer or '/'}", self.value, expected)

    def at(self, key: Union[str, int], kind: type, expected: str) -> "_Node":
        """A member of the kind. @raises InputError"""
        there = isinstance(self.value, dict) and key in self.value or \
            isinstance(self.value, list) and isinstance(key, int) and key < len(self.value)
        node = _Node(self.value[key] if there else None, self.file, f"{self.pointer}/{key}")
        if not isinstance(node.value, kind) or isinstance(node.value, bool) != (kind is bool):
            raise node.fail(expected)
        return node

    def text(self, key: str) -> str:
        node = self.at(key, str, "a text")
        if not node.value:
            raise node.fail("a text that is not empty")
        return node.value


def _read(path: Path) -> _Node:
    file = os.fspath(path)
    try:
        with open(file, encoding="utf-8") as stream:
            return _Node(json.load(stream), file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {error}", _INPUT_ERROR, "") from None


@dataclasses.dataclass(frozen=True)
class _Problem:
    """What a definition asks for, in the program's words."""
    operator: str
    dtype: str
    inputs: List[str]  # of the definition, in its order
    outputs: List[str]
    arguments: List[str]  # of the function that calls the solution
    body: str  # of that function; {entry} is the solution's
    requires: Dict[str, str]
    options: List[str]


def _names(definition: _Node, key: str) -> List[str]:
    return list(definition.at(key, dict, "an object of tensors by name").value)


def _dtype(definition: _Node, name: str) -> str:
    tensor = definition.at("inputs", dict, "inputs").at(name, dict, "a tensor")
    if tensor.text("dtype") not in _DTYPES:
        raise tensor.at("dtype", str, "a dtype").fail("one of " + ", ".join(_DTYPES))
    return tensor.text("dtype")


def _constants(definition: _Node, names: Mapping[str, str]) -> Dict[str, str]:
    """Conditions for the axes that a definition fixes. `names`: of its axes in the program's expressions."""
    axes = definition.at("axes", dict, "axes by name")
    conditions = {}
    for name, ours in names.items():
        axis = axes.at(name, dict, "an axis")
        if axis.text("type") == "const":
            value = axis.at("value", int, "a whole number").value
            conditions[f"{ours} == {value}"] = f"is written for {ours}={value}"
    return conditions


def _tuple_of(names: Sequence[str]) -> str:
    return ", ".join(names)


def _own(definition: _Node, operator: Mapping[str, Any], passes_outputs: bool) -> _Problem:
    """Of a definition that this program has written: its names are the operator's."""
    inputs, outputs = _names(definition, "inputs"), _names(definition, "outputs")
    known = {*operator["inputs"], "scale"}
    for name in inputs:
        if name not in known:
            raise definition.at("inputs", dict, "inputs").at(name, dict, "a tensor").fail(
                f"an input of {operator['name']}: " + ", ".join(sorted(known)))
    axes = definition.at("axes", dict, "axes by name").value
    extents = {*operator["extents"], *operator["optional_extents"]}
    for name in axes:
        if name not in extents:
            raise definition.at("axes", dict, "axes").at(name, dict, "an axis").fail(
                f"an extent of {operator['name']}: " + ", ".join(sorted(extents)))
    arguments = [*inputs, *(outputs if passes_outputs else [])]
    return _Problem(operator["name"], _dtype(definition, inputs[0]), inputs, outputs, arguments,
                    f"    return {{entry}}({_tuple_of(arguments)})\n", _constants(definition, {n: n for n in axes}), [])


_RAGGED_INPUTS = ["q", "k", "v", "qo_indptr", "kv_indptr", "sm_scale"]
_RAGGED = '''    import torch
    batch, seq, key_seq = q.shape[0], q.shape[1], k.shape[1]
    queries = torch.arange(batch + 1, dtype=torch.int32, device=q.device) * seq
    keys = torch.arange(batch + 1, dtype=torch.int32, device=q.device) * key_seq
    given = (q.reshape(-1, *q.shape[2:]), k.reshape(-1, *k.shape[2:]), v.reshape(-1, *v.shape[2:]), queries, keys,
             scale)
'''
# Its sums of exponentials are logarithms to the base of 2.
_RAGGED_RETURNS = '''    o, lse = {entry}(*given)
    return o.reshape(*q.shape[:3], -1), lse.reshape(q.shape[:3]) * 0.6931471805599453
'''
_RAGGED_WRITES = '''    o = torch.empty_like(given[0])
    lse = torch.empty(o.shape[:2], dtype=torch.float32, device=q.device)
    {entry}(*given, o, lse)
    return o.reshape(*q.shape[:3], -1), lse.reshape(q.shape[:3]) * 0.6931471805599453
'''


def _ragged(definition: _Node, passes_outputs: bool) -> _Problem:
    inputs = _names(definition, "inputs")
    if inputs != _RAGGED_INPUTS:
        raise definition.at("inputs", dict, "inputs").fail("the inputs " + ", ".join(_RAGGED_INPUTS))
    if "causal" not in definition.text("name"):
        raise definition.at("name", str, "a name").fail("a definition of gqa_ragged with a causal mask")
    axes = {"num_qo_heads": "heads", "num_kv_heads": "key_heads", "head_dim": "key_dim"}
    conditions = _constants(definition, axes)
    conditions["key_dim == value_dim"] = "has one size of heads"
    return _Problem("attention", _dtype(definition, "q"), inputs, _names(definition, "outputs"),
                    ["q", "k", "v", "scale"], _RAGGED + (_RAGGED_WRITES if passes_outputs else _RAGGED_RETURNS),
                    conditions, ["lse"])


def _problem(definition: _Node, passes_outputs: bool) -> _Problem:
    kind = definition.text("op_type")
    if kind == "gqa_ragged":
        return _ragged(definition, passes_outputs)
    operators = {one["name"]: one for one in json.loads(call(["list", "--json"]).stdout)}
    if kind not in operators:
        raise definition.at("op_type", str, "a text").fail(
            "gqa_ragged or an operator of this program: " + ", ".join(operators))
    return _own(definition, operators[kind], passes_outputs)


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    return text if re.match(r"[A-Za-z]", text) else f"solution_{text}"


def _write_sources(solution: _Node, folder: pathlib.Path) -> List[str]:
    sources = solution.at("sources", list, "a list of files")
    paths: List[str] = []
    for index in range(len(sources.value)):
        source = sources.at(index, dict, "a file")
        path = pathlib.PurePosixPath(source.text("path"))
        if path.is_absolute() or ".." in path.parts or str(path) in paths:
            raise source.at("path", str, "a path").fail("a path inside of the solution, of its own")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.text("content"), encoding="utf-8")
        paths.append(str(path))
    return paths


_IMPORT = '''    path = os.path.join(FOLDER, {file!r})
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location({module!r}, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, {name!r})
'''
_LOAD_TORCH = '''    import torch  # what the library needs
    path = os.path.join(FOLDER, {file!r})
    spec = importlib.util.spec_from_file_location({module!r}, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, {name!r})
'''
_LOAD_FFI = '''    import tvm_ffi
    return getattr(tvm_ffi.load_module(os.path.join(FOLDER, {file!r})), {name!r})
'''
_CALLER = '''"""Calls a solution of flashinfer-bench: {title}. Written by gla_bench.flashinfer."""

import functools
import importlib.util
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "solution")


@functools.lru_cache(maxsize=None)
def entry():
{load}

def {function}({arguments}):
{body}'''


def _compile(binding: str, module: str, sources: Sequence[str], folder: pathlib.Path) -> str:
    """The library's file name, in the folder.

    Raises:
        ImportError: the package that the binding names is not there.
    """
    files = [str(folder / path) for path in sources if pathlib.PurePosixPath(path).suffix in (".cpp", ".cc", ".cu")]
    if binding == "torch":
        from torch.utils import cpp_extension  # pylint: disable=import-outside-toplevel
        cpp_extension.load(name=module, sources=files, extra_include_paths=[str(folder)], build_directory=str(folder),
                           with_cuda=any(file.endswith(".cu") for file in files) or None, is_python_module=True)
        return f"{module}.so"
    import tvm_ffi.cpp  # pylint: disable=import-outside-toplevel
    built = tvm_ffi.cpp.build(name=module, cpp_files=[file for file in files if not file.endswith(".cu")],
                              cuda_files=[file for file in files if file.endswith(".cu")],
                              extra_include_paths=[str(folder)], build_directory=str(folder))
    return os.path.relpath(built, folder)


def _loader(solution: _Node, module: str, sources: Sequence[str], folder: pathlib.Path) -> str:
    spec = solution.at("spec", dict, "how the solution is built")
    point = spec.text("entry_point").split("::")
    if len(point) != 2 or point[0] not in sources:
        raise spec.at("entry_point", str, "a text").fail("a file of the sources and a function: main.py::run")
    language = spec.text("language")
    if language in _IMPORTED:
        return _IMPORT.format(file=point[0], module=f"{module}_solution", name=point[1])
    if language not in _COMPILED:
        raise spec.at("language", str, "a text").fail("one of " + ", ".join([*_IMPORTED, *_COMPILED]))
    binding = spec.value.get("binding") or "tvm-ffi"
    if binding not in ("torch", "tvm-ffi"):
        raise spec.at("binding", str, "a text").fail("torch or tvm-ffi")
    built = _compile(binding, module, sources, folder)
    return (_LOAD_TORCH if binding == "torch" else _LOAD_FFI).format(file=built, module=module, name=point[1])


def take(solution: Path, definition: Path, folder: Path, *, framework: str = "torch", backend: str = "cuda",
         workloads: Optional[Path] = None) -> pathlib.Path:
    """Makes a solution a candidate.

    Args:
        solution, definition: files of flashinfer-bench.
        folder: where the candidate is written; it must not be there yet.
        framework: what the solution's tensors are, as in gla_bench.candidate.
        backend: where it runs: "cuda" or "host".
        workloads: a file of the definition's workloads, for a config beside the manifest.

    Returns:
        The manifest, which --candidates takes.

    Raises:
        InputError: for a file that is not what it has to be, or of an operator that the program does not have.
        FileExistsError: the folder is there.
        ImportError: a solution in C++ or CUDA needs a package that is not there.
    """
    given, asked, target = _read(solution), _read(definition), pathlib.Path(folder)
    if given.text("definition") != asked.text("name"):
        raise given.at("definition", str, "a name").fail(f"{asked.text('name')}, which {asked.file} defines")
    passes_outputs = given.at("spec", dict, "how the solution is built").value.get("destination_passing_style", True)
    problem = _problem(asked, passes_outputs)
    config = _config(workloads, asked, problem, backend) if workloads is not None else None
    name = _identifier(given.text("name"))
    target.mkdir(parents=True)
    sources = _write_sources(given, target / "solution")
    load = _loader(given, name, sources, target / "solution")
    (target / f"{name}.py").write_text(_CALLER.format(
        title=given.text("name"), load=load, function=name, arguments=", ".join(problem.arguments),
        body=problem.body.format(entry="entry()")), encoding="utf-8")
    manifest = {
        "variant": name, "summary": f"{given.text('name')}, by {given.text('author')}", "operator": problem.operator,
        "backend": backend, "dtypes": {problem.dtype: problem.dtype}, "layouts": ["seq_first"],
        "options": problem.options, "function": f"{name}.py:{name}", "framework": framework,
        "arguments": problem.arguments, "headers": [f"solution/{path}" for path in sources],
        "requires": [{"condition": key, "message": value} for key, value in problem.requires.items()]}
    path = target / f"{name}.json"
    path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    if config is not None:
        config["candidates"] = [path.name]
        for sweep in config["sweeps"]:
            sweep["variants"] = [name]
        (target / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return path


def _shape(definition: _Node, axes: Mapping[str, int], problem: _Problem, place: _Node) -> Dict[str, int]:
    """The extents of a workload in the program's words."""
    known = definition.at("axes", dict, "axes").value
    values = {name: axis.get("value") if axis.get("type") == "const" else axes.get(name)
              for name, axis in known.items()}
    missing = [name for name, value in values.items() if not isinstance(value, int)]
    if missing:
        raise place.fail(f"a whole number for {missing[0]}")
    if definition.text("op_type") != "gqa_ragged":
        return values
    sequences = values["len_indptr"] - 1
    if sequences < 1 or values["total_q"] % sequences or values["total_kv"] % sequences:
        raise place.fail("sequences of one length: of ragged ones the attention here knows nothing")
    return {"batch": sequences, "seq": values["total_q"] // sequences, "heads": values["num_qo_heads"],
            "key_dim": values["head_dim"], "value_dim": values["head_dim"],
            "key_seq": values["total_kv"] // sequences, "key_heads": values["num_kv_heads"]}


def _config(path: Path, definition: _Node, problem: _Problem, backend: str) -> Dict[str, Any]:
    """A config with the problems of workloads. Inputs that a file holds are drawn anew here: what a solution is judged
    by are this program's own inputs, and a number of them."""
    sweeps: List[Dict[str, Any]] = []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            trace = _Node(json.loads(line), f"{os.fspath(path)}:{number}")
        except ValueError as error:
            raise InputError(f"{os.fspath(path)}:{number}: {error}", _INPUT_ERROR, "") from None
        if trace.text("definition") != definition.text("name"):
            continue
        workload = trace.at("workload", dict, "a workload")
        axes = workload.at("axes", dict, "values of the axes")
        sweep: Dict[str, Any] = {"operator": problem.operator, "dtypes": [problem.dtype],
                                 "shapes": [_shape(definition, axes.value, problem, axes)]}
        scale = workload.at("inputs", dict, "inputs by name").value.get("scale", {}).get("value")
        if scale is not None:
            sweep["scale"] = scale
        if "initial_state" in problem.inputs:
            sweep["initial_state"] = True
        if sweep not in sweeps:
            sweeps.append(sweep)
    if not sweeps:
        raise InputError(f"{os.fspath(path)}: found no workload of {definition.text('name')}", _INPUT_ERROR, "")
    return {"backend": backend, "sweeps": sweeps}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command: prints the manifest's path. Exit code 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m gla_bench.flashinfer", description=__doc__.splitlines()[0])
    parser.add_argument("solution")
    parser.add_argument("--definition", required=True)
    parser.add_argument("--workloads", help="a file of the definition's workloads, for a config")
    parser.add_argument("-o", "--output", required=True, help="the folder to write")
    parser.add_argument("--framework", default="torch", help="what the solution's tensors are")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "host"])
    given = parser.parse_args(arguments)
    try:
        print(take(given.solution, given.definition, given.output, framework=given.framework, backend=given.backend,
                   workloads=given.workloads))
    except InputError as error:
        print(f"gla_bench.flashinfer: {error}", file=sys.stderr)
        return _INPUT_ERROR
    except (FileExistsError, FileNotFoundError) as error:
        print(f"gla_bench.flashinfer: {error.filename}: {error.strerror}", file=sys.stderr)
        return _INPUT_ERROR
    except ImportError as error:
        print(f"gla_bench.flashinfer: the solution cannot be compiled: {error}", file=sys.stderr)
        return _INPUT_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
