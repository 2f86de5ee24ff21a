"""The program's commands as functions."""

import json
import os
import pathlib
import tempfile
from typing import Any, List, Mapping, Optional, Sequence, Union

from gla_bench._places import Function, manifest_of, place_of
from gla_bench._program import call
from gla_bench._records import Results, load

Path = Union[str, "os.PathLike[str]"]
Config = Union[Path, Mapping[str, Any]]
Candidates = Union[Sequence[Union[Path, Function]], Mapping[str, Function]]


def _operator_of(config: Config, name: str) -> Optional[str]:
    """The operator of the sweeps that name a variant, or take all, where it is one alone."""
    if not isinstance(config, Mapping):
        return None
    found = {sweep["operator"] for sweep in config.get("sweeps", [])
             if isinstance(sweep.get("operator"), str)
             and (sweep.get("variants") == "all" or name in sweep.get("variants", ()))}
    return found.pop() if len(found) == 1 else None


def _candidate_paths(config: Config, candidates: Candidates, folder: pathlib.Path) -> List[str]:
    """What --candidates takes. Functions under other names get manifests in the folder."""
    if not isinstance(candidates, Mapping):
        return [place_of(one) if callable(one) else os.fspath(one) for one in candidates]
    paths = []
    for name, function in candidates.items():
        manifest = manifest_of(function, _operator_of(config, name))
        manifest["variant"] = name
        path = folder / f"{name}.candidate.json"
        path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        paths.append(str(path))
    return paths


def _sweep(command: str, config: Config, output: Optional[Path], backend: Optional[str],
           candidates: Candidates, more: Sequence[str]) -> Results:
    with tempfile.TemporaryDirectory(prefix="gla_bench-") as temporary:
        folder = pathlib.Path(temporary)
        if isinstance(config, Mapping):
            path = folder / "config.json"
            path.write_text(json.dumps(config), encoding="utf-8")
        else:
            path = pathlib.Path(config)
        results = pathlib.Path(output) if output else folder / "results.json"
        arguments: List[str] = [command, str(path), "-o", str(results), "--quiet"]
        if backend:
            arguments += ["--backend", backend]
        # Records name their manifests, which are therefore kept beside them.
        for candidate in _candidate_paths(config, candidates, results.parent):
            arguments += ["--candidates", candidate]
        call([*arguments, *more])
        return load(results)


def run(config: Config, *, output: Optional[Path] = None, backend: Optional[str] = None,
        candidates: Candidates = (), arguments: Sequence[str] = ()) -> Results:
    """Verifies and measures every candidate of a config.

    Args:
        config: a path, or what stands in such a file (docs/config.md).
        output: the results file, which must not be there yet; None: none is kept.
        backend: "auto", "host" or "cuda"; None: as the config says.
        candidates: manifests of kernels of your own, and functions: as "file.py:name", those that
            gla_bench.candidate decorates also as themselves. A dict gives functions other names;
            their manifests are then written beside the results (docs/candidates.md).
        arguments: further arguments of `gla-bench run`, such as "--max-seconds=60".

    Returns:
        The records, whether or not candidates failed: see `Results.ok`.

    Raises:
        InputError: for a config, manifest or argument that is not what it has to be.
        TypeError: for a function that says nothing of itself, or that no process could import.
        MachineError, GlaBenchError: the program could not do its work.
        FileNotFoundError: there is no program.
    """
    return _sweep("run", config, output, backend, candidates, arguments)


def verify(config: Config, *, output: Optional[Path] = None, backend: Optional[str] = None,
           candidates: Candidates = (), arguments: Sequence[str] = ()) -> Results:
    """Verifies every candidate of a config without measuring it; otherwise as `run`."""
    return _sweep("verify", config, output, backend, candidates, arguments)


def gate(*files: Path, arguments: Sequence[str] = ()) -> bool:
    """Whether results files may pass: nothing wrong, crashed, missing or suspect (docs/ci.md).

    Raises:
        InputError: for files that are no results.
    """
    return call(["gate", *map(os.fspath, files), *arguments]).returncode == 0
