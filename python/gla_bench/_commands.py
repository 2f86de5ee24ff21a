"""The program's commands as functions."""

import json
import os
import pathlib
import tempfile
from typing import Any, List, Mapping, Optional, Sequence, Union

from gla_bench._program import call
from gla_bench._records import Results, load

Path = Union[str, "os.PathLike[str]"]
Config = Union[Path, Mapping[str, Any]]


def _sweep(command: str, config: Config, output: Optional[Path], backend: Optional[str],
           candidates: Sequence[Path], more: Sequence[str]) -> Results:
    with tempfile.TemporaryDirectory(prefix="gla_bench-") as folder:
        if isinstance(config, Mapping):
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps(config), encoding="utf-8")
        else:
            path = pathlib.Path(config)
        results = pathlib.Path(output) if output else pathlib.Path(folder) / "results.json"
        arguments: List[str] = [command, str(path), "-o", str(results), "--quiet"]
        if backend:
            arguments += ["--backend", backend]
        for candidate in candidates:
            arguments += ["--candidates", os.fspath(candidate)]
        call([*arguments, *more])
        return load(results)


def run(config: Config, *, output: Optional[Path] = None, backend: Optional[str] = None,
        candidates: Sequence[Path] = (), arguments: Sequence[str] = ()) -> Results:
    """Verifies and measures every candidate of a config.

    Args:
        config: a path, or what stands in such a file (docs/config.md).
        output: the results file, which must not be there yet; None: none is kept.
        backend: "auto", "host" or "cuda"; None: as the config says.
        candidates: manifests of kernels of your own (docs/candidates.md).
        arguments: further arguments of `gla-bench run`, such as "--max-seconds=60".

    Returns:
        The records, whether or not candidates failed: see `Results.ok`.

    Raises:
        InputError: for a config, manifest or argument that is not what it has to be.
        MachineError, GlaBenchError: the program could not do its work.
        FileNotFoundError: there is no program.
    """
    return _sweep("run", config, output, backend, candidates, arguments)


def verify(config: Config, *, output: Optional[Path] = None, backend: Optional[str] = None,
           candidates: Sequence[Path] = (), arguments: Sequence[str] = ()) -> Results:
    """Verifies every candidate of a config without measuring it; otherwise as `run`."""
    return _sweep("verify", config, output, backend, candidates, arguments)


def gate(*files: Path, arguments: Sequence[str] = ()) -> bool:
    """Whether results files may pass: nothing wrong, crashed, missing or suspect (docs/ci.md).

    Raises:
        InputError: for files that are no results.
    """
    return call(["gate", *map(os.fspath, files), *arguments]).returncode == 0
