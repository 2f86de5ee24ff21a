"""Where a function stands, and what it says of itself."""

import dataclasses
import inspect
import os
import sys
from typing import Any, Callable, Dict, Optional

from gla_bench._candidate import ATTRIBUTE, Description, candidate

Function = Callable[..., Any]


def place_of(function: Function) -> str:
    """Where a worker finds a function: "folder/file.py:name".

    Raises:
        TypeError: it is not one of a module's own functions, in a file.
    """
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        file = None
    module = sys.modules.get(getattr(function, "__module__", ""))
    name = getattr(function, "__name__", "?")
    if file is None or not os.path.isfile(file) or getattr(module, name, None) is not function:
        raise TypeError(f"found {name}, expected a function of a module's own that stands in a file, "
                        "where the process that calls it can import it")
    return f"{os.path.realpath(file)}:{name}"


def manifest_of(function: Function, operator: Optional[str] = None,
                **description: Any) -> Dict[str, Any]:
    """The manifest of a function (docs/candidates.md).

    Args:
        function: one that gla_bench.candidate decorates, or any other.
        operator: what it computes; needed where nothing else says it.
        description: further arguments of gla_bench.candidate.

    Raises:
        TypeError: nothing says what it computes, or it stands in no file.
    """
    place = place_of(function)
    known = getattr(function, ATTRIBUTE, None)
    if not isinstance(known, Description):
        if operator is None:
            raise TypeError(f"found {function.__name__} without @gla_bench.candidate(...), expected "
                            "`operator` to say what it computes")
        known = getattr(candidate(operator=operator, **description)(_stand_in(function)), ATTRIBUTE)
    else:
        if operator is not None and operator != known.operator:
            raise TypeError(f"found operator={operator!r}, expected {known.operator!r} as "
                            f"{function.__name__} says")
        known = dataclasses.replace(known, **description)
    return known.manifest(place)


def _stand_in(function: Function) -> Function:
    """Something with the same signature and name, so that the caller's own is left as it is."""
    def stand_in() -> None:
        pass
    stand_in.__name__, stand_in.__doc__ = function.__name__, function.__doc__
    stand_in.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return stand_in
