"""What all peers share: their description, and how they are called.

A peer is called as its users call it, or, with the tile `graph=1`, captured into a CUDA graph at the first call
for a set of tensors and replayed after it: the work without the host's part of it.
"""

import functools
import importlib
import inspect

import gla_bench

# What each dtype's products are computed in where float32 is multiplied as tf32.
PRODUCTS = {"bfloat16": "bfloat16", "float16": "float16", "float32": "tf32"}
NOT_CAPTURED, CAPTURED = 0, 1
WARM_CALLS = 2  # before a capture: the first one compiles and tunes, which no capture may hold


@functools.cache
def found(module, name):
    """A function of another package, looked up once; the error of a call says what is not installed."""
    return getattr(importlib.import_module(module), name)


class _Replays:
    """Captured calls of one function for tensors of the same shapes, by the tensors' addresses."""

    def __init__(self, function):
        self._function, self._shapes, self._graphs = function, None, {}

    def __call__(self, arguments):
        shapes, addresses = [], []
        for name, value in arguments.items():
            if hasattr(value, "data_ptr"):
                shapes.append((name, value.dtype, value.shape, value.stride()))
                addresses.append(value.data_ptr())
            else:
                shapes.append((name, value))
        if shapes != self._shapes:  # of another problem, whose tensors and graphs are gone
            self._shapes, self._graphs = shapes, {}
        key = tuple(addresses)
        if key not in self._graphs:
            self._graphs[key] = self._capture(arguments)
        graph, outputs = self._graphs[key]
        graph.replay()
        return outputs

    def _capture(self, arguments):
        import torch
        current, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            for _ in range(WARM_CALLS):
                self._function(**arguments)
        current.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            outputs = self._function(**arguments)
        return graph, outputs


def peer(*, operator, variant, options=(), files=(), **description):
    """Makes a function a candidate with the tile axis `graph`. Its keywords are those of gla_bench.candidate."""
    def decorate(function):
        replays = _Replays(function)

        @functools.wraps(function)
        def call(graph=NOT_CAPTURED, **arguments):
            return replays(arguments) if graph == CAPTURED else function(**arguments)

        signature = inspect.signature(function)
        axis = inspect.Parameter("graph", inspect.Parameter.KEYWORD_ONLY, default=NOT_CAPTURED)
        call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), axis])
        return gla_bench.candidate(
            operator=operator, variant=variant, framework="torch", layouts=["seq_first"],
            tile={"graph": [CAPTURED, NOT_CAPTURED]}, options=options, files=["calls.py", *files], peer=True,
            **{"dtypes": PRODUCTS, **description})(call)
    return decorate


def gradients(outputs, weights, inputs):
    """By autograd, of those outputs that have a gradient themselves."""
    import torch
    pairs = [(one, weight) for one, weight in zip(outputs, weights) if weight is not None]
    return torch.autograd.grad([one for one, _ in pairs], inputs, [weight for _, weight in pairs])


def leaf(tensor):
    """The same tensor as something to differentiate by."""
    return None if tensor is None else tensor.detach().requires_grad_()
