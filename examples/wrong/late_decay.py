"""gla in Triton whose decay comes one token late, an example of a kernel that is refused.

The state is decayed by the gate of the token before: the first token is right, whose state is zero, and all that
follow are wrong.
"""

import functools

import gla_bench


@functools.cache
def kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def late_decay_kernel(q, k, v, g, o, final_state, scale, seq, heads: tl.constexpr, K: tl.constexpr,
                          V: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr):
        head, sequence = tl.program_id(1), tl.program_id(2)
        keys = tl.arange(0, BLOCK_K)
        values = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
        of_k, of_v = keys < K, values < V
        state = tl.zeros([BLOCK_K, BLOCK_V], tl.float32)
        for token in range(seq):
            row = (sequence * seq + token) * heads + head
            before = (sequence * seq + tl.maximum(token - 1, 0)) * heads + head
            gate = tl.load(g + before * K + keys, of_k, 0.0).to(tl.float32)  # the error: `before` in place of `row`
            key = tl.load(k + row * K + keys, of_k, 0.0).to(tl.float32)
            query = tl.load(q + row * K + keys, of_k, 0.0).to(tl.float32)
            value = tl.load(v + row * V + values, of_v, 0.0).to(tl.float32)
            state = tl.exp(gate)[:, None] * state + key[:, None] * value[None, :]
            tl.store(o + row * V + values, (scale * tl.sum(query[:, None] * state, 0)).to(o.dtype.element_ty), of_v)
        at = (sequence * heads + head) * K * V
        tl.store(final_state + at + keys[:, None] * V + values[None, :], state, of_k[:, None] & of_v[None, :])

    return late_decay_kernel


@gla_bench.candidate(operator="gla", framework="torch", layouts=["seq_first"],
                     dtypes={"float32": "float32", "bfloat16": "float32"}, tile={"block_v": [32]})
def late_decay(q, k, v, g, scale, block_v):
    """gla in Triton with the decay of the token before."""
    import torch
    batch, seq, heads, key_dim = q.shape
    value_dim = v.shape[-1]
    o = torch.empty_like(v)
    final_state = torch.empty(batch, heads, key_dim, value_dim, device=v.device)
    block_k = 1 << (key_dim - 1).bit_length()
    kernel()[(-(-value_dim // block_v), heads, batch)](q, k, v, g, o, final_state, scale, seq, heads, key_dim,
                                                       value_dim, block_k, block_v)
    return o, final_state


@gla_bench.candidate(operator="gla", dtypes=["float32"])
def late_decay_in_numpy(q, k, v, g, scale):
    """The same error on the host."""
    import numpy
    batch, seq, heads, key_dim = q.shape
    state = numpy.zeros((batch, heads, key_dim, v.shape[-1]), numpy.float32)
    o = numpy.empty(v.shape, v.dtype)
    for t in range(seq):
        state *= numpy.exp(g[:, max(t - 1, 0)])[..., None]
        state += k[:, t][..., None] * v[:, t][..., None, :]
        o[:, t] = scale * numpy.einsum("bhk,bhkv->bhv", q[:, t], state)
    return o, state
