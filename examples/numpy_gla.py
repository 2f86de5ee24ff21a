"""Gated linear attention as a function in NumPy: an example of a candidate in Python."""

import numpy

import gla_bench


@gla_bench.candidate(
    operator="gla",
    dtypes={"float32": "float32", "float16": "float32"},
    options=["state_layout", "in_place", "packed", "state_size"],
)
def numpy_gla(q, k, v, g, scale, initial_state=None):
    """Token by token, the states of all heads at once."""
    batch, seq, heads, key_dim = q.shape
    state = numpy.zeros((batch, heads, key_dim, v.shape[-1]), numpy.float32)
    if initial_state is not None:
        state += initial_state
    o = numpy.empty(v.shape, v.dtype)
    for t in range(seq):
        key, query = k[:, t].astype(numpy.float32), q[:, t].astype(numpy.float32)
        state *= numpy.exp(g[:, t].astype(numpy.float32))[..., None]
        state += key[..., None] * v[:, t][..., None, :]
        o[:, t] = scale * numpy.einsum("bhk,bhkv->bhv", query, state)
    return o, state
