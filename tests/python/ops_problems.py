"""Problems for the tests of gla_bench.ops, and what they should give."""

import float64_ops
import torch
from gla_bench import ops

B, T, H, K, V = 2, 37, 3, 16, 24


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def decays(*shape, dtype=torch.float32, seed=9):
    return torch.nn.functional.logsigmoid(normal(*shape, seed=seed)).to(dtype)


def qkv(batch=B, seq=T, heads=H, keys=K, values=V, dtype=torch.float32):
    return [normal(batch, seq, heads, keys, dtype=dtype, seed=1),
            normal(batch, seq, heads, keys, dtype=dtype, seed=2),
            normal(batch, seq, heads, values, dtype=dtype, seed=3)]


def rel_l2(found, expected):
    expected = expected.detach().double()
    return ((found.detach().double() - expected).norm() / expected.norm().clamp_min(1e-30)).item()


def boundaries(*lengths):
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def recurrences():
    """Each recurrence with its tensors and other arguments."""
    yield ops.gla, [*qkv(), decays(B, T, H, K)], {}
    yield ops.simple_gla, [*qkv(), decays(B, T, H)], {"scale": 0.3}
    yield ops.retention, [*qkv(), decays(H)], {}
    yield ops.rwkv6, [*qkv(), decays(B, T, H, K), normal(H, K, seed=5)], {}
    yield ops.rwkv6, [*qkv(), normal(B, T, H, K, seed=6), normal(H, K, seed=5)], {"gate_input": "raw"}
    yield ops.linear_attention, qkv(), {}
    yield ops.linear_attention, qkv(), {"feature_map": "elu_plus_one", "normalize": True}


def attentions():
    yield ops.attention, qkv(), {}
    yield ops.attention, qkv(), {"causal": False, "scale": 0.2}
    short, long = qkv(seq=5), qkv(heads=1)
    yield ops.attention, [normal(B, 5, 4, K), long[1], long[2]], {}
    yield ops.decay_attention, [*qkv(), decays(B, T, H)], {}
    yield ops.decay_attention, [*qkv(), decays(H)], {}
    yield ops.decay_attention, [short[0], *qkv()[1:], decays(B, T, H)], {}


def is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def float64_of(function, tensors, more):
    """The outputs in float64, and the inputs that they are made of."""
    leaves = [float64_ops.rounded(tensor) for tensor in tensors]
    states = {name: float64_ops.rounded(value) if is_float(value) else value for name, value in more.items()}
    outputs = getattr(float64_ops, function.__name__)(*leaves, **states)
    leaves += [value for value in states.values() if is_float(value)]
    return outputs if isinstance(outputs, tuple) else (outputs,), leaves
