"""Functions of flash-linear-attention (0.5 or newer) as candidates, forward and backward:

    gla-bench run CONFIG --candidates examples/peers/flash_linear_attention.py:chunk_gla

A backward is what its users run: the forward and the backward by autograd, in one call, since neither the package's
own backward functions nor what they keep from the forward are an interface. Its time is that of both. As `training`,
the direction of this program that takes both as one, it stands beside kernels that do the same.
"""

import calls
import triton_cache
from calls import gradients, leaf, peer

FILES, PACKAGES = ["triton_cache.py"], ["flash-linear-attention"]
GATED = ("gla", "simple_gla", "rwkv6")


def fla(operator, name):
    triton_cache.prepare()
    return calls.found(f"fla.ops.{operator}", name)


def recurrence(name, operator):
    # A state is not updated in place, but returned as one of the same size.
    options = ["state_size", "in_place", *(["gate_dtype"] if operator in GATED else [])]
    return peer(operator=operator, variant=f"fla_{name}", options=options, files=FILES, packages=PACKAGES)


def differentiated(name, operator):
    """A backward. A repeated call may give other last bits, where Triton's kernels add atomically."""
    options = ["state_size", *(["gate_dtype"] if operator in GATED else [])]
    return peer(operator=operator, variant=f"fla_{name}_with_forward", direction="backward", options=options,
                files=FILES, packages=PACKAGES, reproducible=False)


def trained(backward):
    """The same call as the direction `training`, whose outputs are those of the forward, too."""
    described = backward.__gla_bench_candidate__
    return peer(operator=described.operator, variant=described.variant.removesuffix("_with_forward"),
                direction="training", options=described.options, files=FILES, packages=PACKAGES,
                reproducible=False, summary=described.summary)(backward.__wrapped__)


def _forward(module, name, q, k, v, scale, initial_state, **more):
    return fla(module, name)(q=q, k=k, v=v, scale=scale, initial_state=initial_state, output_final_state=True, **more)


def _backward(module, name, q, k, v, scale, initial_state, do, dfinal_state, gates=None, **more):
    """The outputs; gradients of q, k, v, then of the gates and of the initial state, where there are such."""
    q, k, v, initial_state = leaf(q), leaf(k), leaf(v), leaf(initial_state)
    gates = {key: leaf(value) for key, value in (gates or {}).items()}
    outputs = _forward(module, name, q, k, v, scale, initial_state, **gates, **more)
    inputs = [q, k, v, *gates.values(), *([] if initial_state is None else [initial_state])]
    found = list(gradients(outputs[:2], (do, dfinal_state), inputs))
    result = dict(zip(("o", "final_state", "dq", "dk", "dv"), (*outputs[:2], *found)))
    result.update({f"d{key}": one.float() for key, one in zip(gates, found[3:])})
    if initial_state is not None:
        result["dinitial_state"] = found[-1]
    return {name: one.detach() for name, one in result.items()}


# Gated linear attention.

@recurrence("chunk_gla", "gla")
def chunk_gla(q, k, v, g, scale, initial_state=None):
    """flash-linear-attention's chunk_gla."""
    return _forward("gla", "chunk_gla", q, k, v, scale, initial_state, g=g)


@recurrence("fused_chunk_gla", "gla")
def fused_chunk_gla(q, k, v, g, scale, initial_state=None):
    """flash-linear-attention's fused_chunk_gla."""
    return _forward("gla", "fused_chunk_gla", q, k, v, scale, initial_state, g=g)


@recurrence("fused_recurrent_gla", "gla")
def fused_recurrent_gla(q, k, v, g, scale, initial_state=None):
    """flash-linear-attention's fused_recurrent_gla."""
    return _forward("gla", "fused_recurrent_gla", q, k, v, scale, initial_state, gk=g)


@differentiated("chunk_gla", "gla")
def chunk_gla_backward(q, k, v, g, scale, do, dfinal_state=None, initial_state=None):
    """Forward and backward of flash-linear-attention's chunk_gla."""
    return _backward("gla", "chunk_gla", q, k, v, scale, initial_state, do, dfinal_state, {"g": g})


chunk_gla_training = trained(chunk_gla_backward)


# A gate for each token and head.

@recurrence("chunk_simple_gla", "simple_gla")
def chunk_simple_gla(q, k, v, g, scale, initial_state=None):
    """flash-linear-attention's chunk_simple_gla."""
    return _forward("simple_gla", "chunk_simple_gla", q, k, v, scale, initial_state, g=g)


@recurrence("fused_chunk_simple_gla", "simple_gla")
def fused_chunk_simple_gla(q, k, v, g, scale, initial_state=None):
    """flash-linear-attention's fused_chunk_simple_gla."""
    return _forward("simple_gla", "fused_chunk_simple_gla", q, k, v, scale, initial_state, g=g)


@differentiated("chunk_simple_gla", "simple_gla")
def chunk_simple_gla_backward(q, k, v, g, scale, do, dfinal_state=None, initial_state=None):
    """Forward and backward of flash-linear-attention's chunk_simple_gla."""
    return _backward("simple_gla", "chunk_simple_gla", q, k, v, scale, initial_state, do, dfinal_state, {"g": g})


chunk_simple_gla_training = trained(chunk_simple_gla_backward)


# A constant decay for each head. Its own chunk_retention knows no decays but RetNet's, and no gradient of them.

@recurrence("chunk_retention", "retention")
def chunk_retention(q, k, v, log_decay, scale, initial_state=None):
    """flash-linear-attention's chunk_simple_gla with one decay a head, as its chunk_retention calls it."""
    return _forward("simple_gla", "chunk_simple_gla", q, k, v, scale, initial_state, g_gamma=log_decay.float())


@differentiated("chunk_retention", "retention")
def chunk_retention_backward(q, k, v, log_decay, scale, do, dfinal_state=None, initial_state=None):
    """Forward and backward of flash-linear-attention's chunk_simple_gla, each token with its head's decay."""
    g = log_decay.float().expand(*q.shape[:3]).contiguous()
    result = _backward("simple_gla", "chunk_simple_gla", q, k, v, scale, initial_state, do, dfinal_state, {"g": g})
    result["dlog_decay"] = result.pop("dg").sum((0, 1))
    return result


chunk_retention_training = trained(chunk_retention_backward)


# RWKV-6.

@recurrence("chunk_rwkv6", "rwkv6")
def chunk_rwkv6(q, k, v, w, u, scale, initial_state=None):
    """flash-linear-attention's chunk_rwkv6."""
    return fla("rwkv6", "chunk_rwkv6")(r=q, k=k, v=v, w=w, u=u, scale=scale, initial_state=initial_state,
                                       output_final_state=True)


@recurrence("fused_recurrent_rwkv6", "rwkv6")
def fused_recurrent_rwkv6(q, k, v, w, u, scale, initial_state=None):
    """flash-linear-attention's fused_recurrent_rwkv6."""
    return fla("rwkv6", "fused_recurrent_rwkv6")(r=q, k=k, v=v, w=w, u=u, scale=scale, initial_state=initial_state,
                                                 output_final_state=True)


@differentiated("chunk_rwkv6", "rwkv6")
def chunk_rwkv6_backward(q, k, v, w, u, scale, do, dfinal_state=None, initial_state=None):
    """Forward and backward of flash-linear-attention's chunk_rwkv6."""
    q, k, v, w, u, initial_state = (leaf(one) for one in (q, k, v, w, u, initial_state))
    outputs = chunk_rwkv6(q=q, k=k, v=v, w=w, u=u, scale=scale, initial_state=initial_state)
    inputs = [q, k, v, w, u, *([] if initial_state is None else [initial_state])]
    found = gradients(outputs, (do, dfinal_state), inputs)
    result = dict(zip(("dq", "dk", "dv", "dw", "du", "dinitial_state"), found))
    result.update(o=outputs[0].detach(), final_state=outputs[1].detach())
    return {**result, "dw": result["dw"].float(), "du": result["du"].float()}


chunk_rwkv6_training = trained(chunk_rwkv6_backward)


# Without decay. A feature map would be applied before, and its own normalization is another one.

@recurrence("chunk_linear_attn", "linear_attention")
def chunk_linear_attn(q, k, v, scale, initial_state=None):
    """flash-linear-attention's chunk_linear_attn."""
    return _forward("linear_attn", "chunk_linear_attn", q, k, v, scale, initial_state, normalize=False)


@recurrence("fused_chunk_linear_attn", "linear_attention")
def fused_chunk_linear_attn(q, k, v, scale, initial_state=None):
    """flash-linear-attention's fused_chunk_linear_attn."""
    return _forward("linear_attn", "fused_chunk_linear_attn", q, k, v, scale, initial_state, normalize=False)


@differentiated("chunk_linear_attn", "linear_attention")
def chunk_linear_attn_backward(q, k, v, scale, do, dfinal_state=None, initial_state=None):
    """Forward and backward of flash-linear-attention's chunk_linear_attn."""
    return _backward("linear_attn", "chunk_linear_attn", q, k, v, scale, initial_state, do, dfinal_state,
                     normalize=False)


chunk_linear_attn_training = trained(chunk_linear_attn_backward)


# Forgetting attention.

ALIGNED = {"seq == key_seq": "aligns queries with the first keys, not with the last"}


@peer(operator="decay_attention", variant="fla_parallel_forgetting_attn", options=["gate_dtype"], files=FILES,
      packages=PACKAGES, requires=ALIGNED)
def parallel_forgetting_attn(q, k, v, log_decay, scale):
    """flash-linear-attention's parallel_forgetting_attn."""
    return fla("forgetting_attn", "parallel_forgetting_attn")(q, k, v, _per_query_head(log_decay, q), scale=scale)


@peer(operator="decay_attention", variant="fla_parallel_forgetting_attn_with_forward", direction="backward",
      options=["gate_dtype"], files=FILES, packages=PACKAGES, requires=ALIGNED, reproducible=False)
def parallel_forgetting_attn_backward(q, k, v, log_decay, scale, do):
    """Forward and backward of flash-linear-attention's parallel_forgetting_attn."""
    q, k, v, log_decay = (leaf(one) for one in (q, k, v, log_decay))
    o = parallel_forgetting_attn(q=q, k=k, v=v, log_decay=log_decay, scale=scale)
    found = dict(zip(("dq", "dk", "dv", "dlog_decay"), gradients([o], [do], [q, k, v, log_decay])))
    return {**found, "dlog_decay": found["dlog_decay"].float()}


def _per_query_head(log_decay, q):
    """Its decays are those of the heads of queries."""
    return log_decay if log_decay.shape[2] == q.shape[2] else log_decay.repeat_interleave(
        q.shape[2] // log_decay.shape[2], 2)
