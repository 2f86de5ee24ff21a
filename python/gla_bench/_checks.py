"""Functions of the caller, verified and measured."""

import json
import pathlib
import tempfile
from typing import Any, Callable, Dict, Mapping, Optional

from gla_bench._commands import run, verify
from gla_bench._errors import GlaBenchError
from gla_bench._places import Function, manifest_of
from gla_bench._program import call
from gla_bench._records import Record, Results


def _is_extent(name: str, value: Any) -> bool:
    """Whether a keyword is an extent of the problem. The program knows which there are."""
    return isinstance(value, int) and not isinstance(value, bool) and name not in ("scale",
                                                                                   "max_tiles")


def _sweep(manifest: Mapping[str, Any], dtype: Optional[str], problem: Mapping[str, Any],
           problems: int, seed: int) -> Dict[str, Any]:
    sweep: Dict[str, Any] = {"operator": manifest["operator"], "variants": [manifest["variant"]],
                             "direction": manifest["direction"], "seed": seed,
                             "refusals_allowed": True}
    extents = {name: value for name, value in problem.items() if _is_extent(name, value)}
    sweep.update({name: value for name, value in problem.items() if name not in extents})
    dtypes = [dtype] if dtype else list(manifest["dtypes"])
    if extents:
        sweep.update(shapes=[extents], dtypes=dtypes[:1])
    else:
        sweep.update(random={"problems": problems}, dtypes=dtypes, layouts=manifest["layouts"])
        sweep["options"] = {**_defaults_of_others(manifest), **problem.get("options", {})}
        if "initial_state" not in manifest["arguments"]:
            sweep.setdefault("initial_state", False)
    return sweep


def _defaults_of_others(manifest: Mapping[str, Any]) -> Dict[str, Any]:
    """The default of each option that the function does not take: what would be drawn for nothing."""
    listed = json.loads(call(["list", manifest["operator"], "--json"]).stdout)
    options = next(one["options"] for one in listed if one["name"] == manifest["operator"])
    return {option["name"]: [option["values"][0]] for option in options
            if option["name"] not in manifest["options"]}


def _results(command: Callable[..., Results], function: Function, operator: Optional[str],
             sweep: Callable[[Mapping[str, Any]], Dict[str, Any]],
             description: Mapping[str, Any], policy: Optional[Mapping[str, Any]]) -> Results:
    manifest = manifest_of(function, operator, **description)
    with tempfile.TemporaryDirectory(prefix="gla_bench-") as folder:
        path = pathlib.Path(folder) / f"{manifest['variant']}.json"
        path.write_text(json.dumps(manifest), encoding="utf-8")
        config: Dict[str, Any] = {"backend": manifest["backend"], "sweeps": [sweep(manifest)]}
        if policy:
            config["policy"] = dict(policy)
        return command(config, candidates=[path])


def check(function: Function, *, operator: Optional[str] = None, dtype: Optional[str] = None,
          problems: int = 100, seed: int = 1, candidate: Optional[Mapping[str, Any]] = None,
          **problem: Any) -> Results:
    """Verifies a function against float64, in a process of its own.

    On the problem whose extents are given, or else on problems drawn over all that the function
    takes: its dtypes, layouts and options, with an initial state where that is a parameter of it::

        gla_bench.check(my_gla, operator="gla", batch=2, seq=256, heads=4, key_dim=64, value_dim=64)
        gla_bench.check(my_gla, operator="gla", problems=200, seed=7)

    Args:
        function: one of a module's own functions, decorated by gla_bench.candidate or not.
        operator: what it computes; needed where it is not decorated.
        dtype: of the problems; None: all that it takes, and the first for a problem that is given.
        problems, seed: how many are drawn, and what from.
        candidate: further arguments of gla_bench.candidate, such as {"framework": "torch"}.
        problem: extents (batch, seq, heads, ...), and whatever else a sweep takes
            (gates, layouts, initial_state, scale, options, ...; docs/config.md).

    Returns:
        A record for each problem: `ok` says whether all are right, `failures()` which are not.
        Those that it refuses are `rejected`, with the reason.

    Raises:
        InputError: for a description or a problem that is not what it has to be.
        TypeError: for a function that no other process could import.
        GlaBenchError: it takes none of the drawn problems.
    """
    results = _results(verify, function, operator,
                       lambda manifest: _sweep(manifest, dtype, problem, problems, seed),
                       candidate or {}, None)
    drawn = not any(_is_extent(name, value) for name, value in problem.items())
    if drawn and all(record.status == "rejected" for record in results):
        reasons = sorted({record.reason for record in results})
        raise GlaBenchError(f"{function.__name__} takes none of {len(results.records)} drawn "
                            f"problems: {'; '.join(reasons[:5])}", 1, "")
    return results


def measure(function: Function, *, operator: Optional[str] = None, dtype: Optional[str] = None,
            seed: int = 1, candidate: Optional[Mapping[str, Any]] = None,
            policy: Optional[Mapping[str, Any]] = None, **problem: Any) -> Record:
    """Verifies and times a function on one problem; of several tiles it returns the fastest's record.

    Args:
        policy: how it is timed (docs/config.md). The others are those of `check`; the problem's
            extents have to be given.

    Raises:
        GlaBenchError: it is not right, or refuses the problem; the message says why.
        InputError, TypeError: as for `check`.
    """
    results = _results(run, function, operator,
                       lambda manifest: _sweep(manifest, dtype, problem, 1, seed), candidate or {},
                       policy)
    best = results.best()
    if not results.ok or not best:
        worst = (results.failures() or results.records)[0]
        raise GlaBenchError(f"{worst.variant} is {worst.status}: {worst.reason}", 1, worst.reason)
    return best[0]
