"""Functions as candidates, in the process that calls them. The other half is python/core.cpp."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import sys
import traceback
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from gla_bench._candidate import ATTRIBUTE, Description

_modules: Dict[str, Any] = {}


def load_function(place: str) -> Callable[..., Any]:
    """The function "folder/file.py:name". Its module is imported once in a process.

    Raises:
        AttributeError: the file has no such function.
        Exception: whatever the module's own code raises.
    """
    path, _, name = place.rpartition(":")
    real = os.path.realpath(path)
    if real not in _modules:
        # As `python file.py` does, so that it can import what lies beside it.
        folder = os.path.dirname(real)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(pathlib.Path(real).stem, real)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        _modules[real] = module
    function = getattr(_modules[real], name, None)
    if not callable(function):
        raise AttributeError(f"{path} has no function {name}")
    return function


def manifest_of(place: str) -> str:
    """The manifest of a function that gla_bench.candidate decorates, as JSON.

    Raises:
        TypeError: nothing says what the function computes.
    """
    function = load_function(place)
    description = getattr(function, ATTRIBUTE, None)
    if not isinstance(description, Description):
        raise TypeError("found a function without @gla_bench.candidate(operator=...), which says "
                        "what it computes")
    path, _, name = place.rpartition(":")
    return json.dumps(description.manifest(f"{os.path.basename(path)}:{name}"), indent=1)


def versions(frameworks: Sequence[str]) -> Dict[str, str]:
    """The version of Python, and of the packages with these frameworks and of those that the functions
    of the imported files name, as far as they are there."""
    found = {"python": platform.python_version()}
    for name in [*frameworks, *(["triton"] if "torch" in frameworks else [])]:
        try:
            found[name] = importlib.import_module(name).__version__
        except ImportError:  # the function says so itself, if it needs it; "dlpack" is no package
            pass
    functions = (one for module in _modules.values() for one in list(vars(module).values()))
    for description in (getattr(one, ATTRIBUTE, None) for one in functions):
        for name in description.packages if isinstance(description, Description) else ():
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pass
    return found


def raised(error: BaseException) -> str:
    """One line on an exception, with the last place in its traceback outside of this package."""
    own = os.path.dirname(os.path.realpath(__file__))
    places = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(os.path.realpath(frame.filename)) != own
              and not frame.filename.startswith("<frozen")]
    text = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    return f"{text} ({places[-1].filename}:{places[-1].lineno})" if places else text


class _Framework:
    """How tensors get to a function and back."""

    def take(self, tensor: Any, dtype: str) -> Any:
        """The program's view of its memory, as the function's kind of tensor."""
        return tensor

    def put(self, target: Any, view: Any, result: Any) -> None:
        """Copies a result to the program's memory: `target` is what take() made of `view`. Both
        have the result's shape and dtype."""
        raise TypeError("a function with tensors of DLPack writes its outputs itself: it takes "
                        "them as arguments")

    def wait(self, result: Any) -> Any:
        """What a function returned, once it is computed; part of a call's time."""
        return result

    def array(self, value: Any) -> Any:
        """One of the tensors that a function returned, as something with shape and dtype."""
        return value

    def on(self, stream: int) -> Any:
        """A context in which the function's work goes to the stream."""
        return _Nothing()


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


class _NumPy(_Framework):
    def take(self, tensor: Any, dtype: str) -> Any:
        if dtype != "bfloat16":
            return tensor
        import ml_dtypes
        return tensor.view(ml_dtypes.bfloat16)

    def put(self, target: Any, view: Any, result: Any) -> None:
        target[...] = result

    def array(self, value: Any) -> Any:
        import numpy
        if type(value) is not numpy.ndarray:
            # Others may compute what they hold when they are looked at, outside of a call's time.
            raise TypeError(f"returned a {type(value).__name__}, expected a numpy.ndarray")
        return value


class _Torch(_Framework):
    def __init__(self) -> None:
        import torch
        self.torch = torch
        self.streams: Dict[int, Any] = {}

    def take(self, tensor: Any, dtype: str) -> Any:
        return self.torch.from_dlpack(tensor)

    def put(self, target: Any, view: Any, result: Any) -> None:
        target.copy_(result)

    def on(self, stream: int) -> Any:
        if stream == 0:
            return self.torch.no_grad()
        if stream not in self.streams:
            self.streams[stream] = self.torch.cuda.ExternalStream(stream)
        return self.torch.cuda.stream(self.streams[stream])


class _CuPy(_Framework):
    def __init__(self) -> None:
        import cupy
        self.cupy = cupy

    def take(self, tensor: Any, dtype: str) -> Any:
        return self.cupy.from_dlpack(tensor)

    def put(self, target: Any, view: Any, result: Any) -> None:
        target[...] = result

    def on(self, stream: int) -> Any:
        return self.cupy.cuda.ExternalStream(stream) if stream else _Nothing()


class _Jax(_Framework):
    """JAX has threads of its own and tensors that cannot be written: each call waits for its
    results, and NumPy copies them."""

    def __init__(self) -> None:
        import jax
        self.jax = jax

    def take(self, tensor: Any, dtype: str) -> Any:
        return self.jax.dlpack.from_dlpack(tensor)

    def wait(self, result: Any) -> Any:
        return self.jax.block_until_ready(result)

    def put(self, target: Any, view: Any, result: Any) -> None:
        import numpy
        numpy.from_dlpack(view)[...] = numpy.asarray(result)


_FRAMEWORKS = {"numpy": _NumPy, "torch": _Torch, "cupy": _CuPy, "jax": _Jax, "dlpack": _Framework}
_loaded: Dict[str, _Framework] = {}


def _framework(name: str) -> _Framework:
    if name not in _loaded:
        _loaded[name] = _FRAMEWORKS[name]()
    return _loaded[name]


class Bound:
    """A function with the tensors of one problem.

    Args:
        function: "folder/file.py:name".
        framework: what its tensors are.
        backend: "host" or "cuda".
        tensors: name, dtype, the program's view and whether it is an output, of each of the
            problem's tensors.
        arguments: the function's parameters.
        returned: the operator's outputs that are none of them, also those that the problem lacks.
        numbers: the values of those parameters that are whole numbers.
        scale: the problem's.
    """

    def __init__(self, function: str, framework: str, backend: str,
                 tensors: Sequence[Tuple[str, str, Any, bool]], arguments: Sequence[str],
                 returned: Sequence[str], numbers: Mapping[str, int], scale: float) -> None:
        self._function = load_function(function)
        self._framework = _framework(framework)
        self._returned = list(returned)
        taken = set(arguments)
        self._arguments: Dict[str, Any] = dict(numbers)
        if "scale" in taken:
            self._arguments["scale"] = scale
        self._outputs: List[Tuple[str, str, Any, Any]] = []
        for name, dtype, view, is_output in tensors:
            if name in taken:
                self._arguments[name] = self._framework.take(view, dtype)
            elif is_output:
                self._outputs.append((name, dtype, self._framework.take(view, dtype), view))
        self._result: Any = None

    def call(self, stream: int) -> None:
        """One call, whose time is taken."""
        with self._framework.on(stream):
            self._result = self._framework.wait(self._function(**self._arguments))

    def finish(self, stream: int) -> None:
        """Copies what the last call returned to the outputs, once its time has been taken."""
        result, self._result = self._result, None
        if not self._outputs:
            return
        with self._framework.on(stream):
            for (name, dtype, target, view), value in zip(self._outputs, self._values(result)):
                if value is None:
                    raise ValueError(f"returned None as {name}")
                tensor = self._framework.array(value)
                self._check(name, dtype, target, tensor)
                self._framework.put(target, view, tensor)

    def _values(self, result: Any) -> List[Any]:
        wanted = [name for name, *_ in self._outputs]
        if isinstance(result, dict):
            missing = [name for name in wanted if name not in result]
            if missing:
                raise ValueError(f"returned {', '.join(result)}, expected also {missing[0]}")
            return [result[name] for name in wanted]
        values = list(result) if isinstance(result, (tuple, list)) else [result]
        names = self._returned if len(values) == len(self._returned) else wanted
        if len(values) != len(names):
            raise ValueError(f"returned {len(values)} tensors, expected {', '.join(wanted)}")
        by_name = dict(zip(names, values))
        return [by_name[name] for name in wanted]

    @staticmethod
    def _check(name: str, dtype: str, target: Any, value: Any) -> None:
        found, expected = tuple(value.shape), tuple(target.shape)
        if found != expected:
            raise ValueError(f"returned {name} of shape {list(found)}, expected {list(expected)}")
        if value.dtype != target.dtype:
            raise ValueError(f"returned {name} of dtype {value.dtype}, expected {dtype}")
