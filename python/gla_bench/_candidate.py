"""The decorator by which a function says what it computes."""

import dataclasses
import inspect
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, TypeVar, Union

ATTRIBUTE = "__gla_bench_candidate__"
Function = TypeVar("Function", bound=Callable[..., Any])
_BACKENDS = {"numpy": "host", "jax": "host"}


@dataclasses.dataclass(frozen=True)
class Description:
    """What a function says of itself; the fields are those of a manifest (docs/candidates.md)."""

    operator: str
    variant: str
    framework: str
    backend: str
    direction: str
    dtypes: Mapping[str, str]
    arguments: Tuple[str, ...]
    summary: str
    layouts: Tuple[str, ...]
    options: Tuple[str, ...]
    tile: Mapping[str, Sequence[int]]
    requires: Mapping[str, str]
    files: Tuple[str, ...]
    flops: Optional[str]
    bytes: Optional[Tuple[str, str]]
    reproducible: bool
    peer: bool
    packages: Tuple[str, ...]

    def manifest(self, function: str) -> Dict[str, Any]:
        """The manifest of the function at a place such as "file.py:name"."""
        manifest: Dict[str, Any] = {
            "variant": self.variant, "summary": self.summary, "operator": self.operator,
            "direction": self.direction, "backend": self.backend, "dtypes": dict(self.dtypes),
            "layouts": list(self.layouts), "options": list(self.options), "function": function,
            "framework": self.framework, "arguments": list(self.arguments),
            "headers": list(self.files), "reproducible": self.reproducible, "peer": self.peer,
            "tile": [{"name": name, "values": list(values)} for name, values in self.tile.items()],
            "requires": [{"condition": condition, "message": message}
                         for condition, message in self.requires.items()]}
        if self.flops is not None:
            manifest["flops"] = self.flops
        if self.bytes is not None:
            manifest["bytes"] = {"read": self.bytes[0], "write": self.bytes[1]}
        return manifest


def arguments_of(function: Callable[..., Any]) -> Tuple[str, ...]:
    """The names of a function's parameters.

    Raises:
        TypeError: it takes arguments that have no name of their own.
    """
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL,
                              parameter.VAR_KEYWORD):
            raise TypeError(f"{function.__name__}: found the parameter {parameter}, expected "
                            "parameters that are tensors, numbers or `scale` by name")
        names.append(parameter.name)
    return tuple(names)


def candidate(*, operator: str, framework: str = "numpy", backend: Optional[str] = None,
              variant: Optional[str] = None, direction: str = "forward",
              dtypes: Union[Mapping[str, str], Sequence[str]] = ("float32",),
              summary: Optional[str] = None,
              layouts: Sequence[str] = ("seq_first", "head_first"), options: Sequence[str] = (),
              tile: Optional[Mapping[str, Sequence[int]]] = None,
              requires: Optional[Mapping[str, str]] = None, files: Sequence[str] = (),
              flops: Optional[str] = None, bytes: Optional[Tuple[str, str]] = None,
              reproducible: bool = True, peer: bool = False,
              packages: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Makes a function a candidate: `gla-bench run CONFIG --candidates file.py:name` takes it.

    The function is called with those of its parameters that the operator's problems have: tensors
    by name, with their axes in logical order ([batch, seq, heads, dim]) whatever the layout is;
    `scale`; extents, options and tile axes as whole numbers. A tensor that the problem lacks is
    left out, so that its parameter needs a default. It returns the operator's outputs in their
    order (`gla-bench list OPERATOR` shows them), those left out that are among its parameters:
    these it writes itself. It may return more outputs than the problem asks for.

    Args:
        operator: what it computes, such as "gla".
        framework: what its tensors are: "numpy", "torch", "cupy", "jax", or "dlpack" for objects
            that have `__dlpack__` and nothing else.
        backend: "host" or "cuda"; None: "host" for numpy and jax, "cuda" for the others.
        variant: its name in records; None: the function's own.
        direction: "forward", "backward", or "training" for both in one call.
        dtypes: those of the problems that it takes; as a mapping, each with what its products are
            computed in ("bfloat16": "float32"), which decides the bounds of errors. In a plain list
            each is computed in itself.
        summary: one line; None: the first of its docstring.
        layouts, options: those that it takes (docs/candidates.md).
        tile: parameters that can be tuned, each with its values; the first is the default.
        requires: conditions, each with the reason that a problem is refused for otherwise.
        files: other files of its code, whose edits make its records stale.
        flops, bytes: what a call computes, and reads and writes, as expressions.
        reproducible: whether a repeated call gives the same bits.
        peer: whether it is another project's implementation, measured beside the others: it wins
            nothing.
        packages: installed packages whose versions belong in the environment of its results.

    Raises:
        TypeError: the function takes arguments without a name of their own.
    """
    def decorate(function: Function) -> Function:
        lines = (function.__doc__ or "").strip().splitlines()
        setattr(function, ATTRIBUTE, Description(
            operator=operator, variant=variant or function.__name__, framework=framework,
            backend=backend or _BACKENDS.get(framework, "cuda"), direction=direction,
            dtypes=dict(dtypes) if isinstance(dtypes, Mapping) else {one: one for one in dtypes},
            arguments=arguments_of(function),
            summary=summary or (lines[0] if lines else "a function in Python"),
            layouts=tuple(layouts), options=tuple(options), tile=dict(tile or {}),
            requires=dict(requires or {}), files=tuple(files), flops=flops, bytes=bytes,
            reproducible=reproducible, peer=peer, packages=tuple(packages)))
        return function
    return decorate
