"""PyTorch's scaled_dot_product_attention as candidates, by two of its fused backends, forward and backward:

    gla-bench run CONFIG --candidates examples/peers/sdpa.py:cudnn

The backward gets o and lse of the forward, as the program's own do: it calls the operators of PyTorch that autograd
calls, so that its time is the backward's alone.
"""

import calls
from calls import peer

DTYPES = {"bfloat16": "bfloat16", "float16": "float16"}
ALIGNED = {"causal == 0 or seq == 1 or seq == key_seq": "aligns a causal mask with the first key, not with the last"}
SAME_HEADS = {**ALIGNED, "key_heads == heads": "its backward alone takes as many key heads as heads"}


def _attend(backend, q, k, v, scale, causal, seq):
    """[B,T,H,D] in and out; `backend`: a name of torch.nn.attention.SDPBackend."""
    attend = calls.found("torch.nn.functional", "scaled_dot_product_attention")
    chosen = getattr(calls.found("torch.nn.attention", "SDPBackend"), backend)
    q, k, v = (one.transpose(1, 2) for one in (q, k, v))
    with calls.found("torch.nn.attention", "sdpa_kernel")([chosen]):
        o = attend(q, k, v, is_causal=bool(causal) and seq > 1, scale=scale, enable_gqa=k.shape[1] != q.shape[1])
    return o.transpose(1, 2)


def attention(variant, **description):
    return peer(operator="attention", variant=variant, options=["causal"], dtypes=DTYPES, **description)


@attention("sdpa_cudnn", requires=ALIGNED, reproducible=False)
def cudnn(q, k, v, scale, causal, seq):
    """PyTorch's attention by cuDNN."""
    return _attend("CUDNN_ATTENTION", q, k, v, scale, causal, seq)


@attention("sdpa_flash2", requires=ALIGNED)
def flash2(q, k, v, scale, causal, seq):
    """PyTorch's attention by FlashAttention-2."""
    return _attend("FLASH_ATTENTION", q, k, v, scale, causal, seq)


def _gradients(name, heads_first, lse, given, **more):
    """Calls a backward operator of PyTorch, whose tensors are [B,H,T,D] and lse [B,H,T]."""
    aten = calls.found("torch", "ops").aten
    found = getattr(aten, name)(*heads_first, lse, *given, **more)
    return dict(zip(("dq", "dk", "dv"), (one.transpose(1, 2) for one in found[:3])))


def _no_numbers(q):
    """What stands for the state of the random numbers, of which there are none without dropout."""
    return calls.found("torch", "empty")(0, dtype=calls.found("torch", "int64"), device=q.device)


@attention("sdpa_flash2", direction="backward", requires=SAME_HEADS, reproducible=False)
def flash2_backward(q, k, v, o, lse, do, scale, causal, seq, key_seq):
    """The backward of PyTorch's attention by FlashAttention-2."""
    heads_first = [one.transpose(1, 2) for one in (do, q, k, v, o)]
    none = _no_numbers(q)
    return _gradients("_scaled_dot_product_flash_attention_backward", heads_first, lse.transpose(1, 2).contiguous(),
                      (None, None, seq, key_seq, 0.0, bool(causal) and seq > 1, none, none), scale=scale)


@attention("sdpa_cudnn", direction="backward", requires=SAME_HEADS, reproducible=False)
def cudnn_backward(q, k, v, o, lse, do, scale, causal, seq, key_seq):
    """The backward of PyTorch's attention by cuDNN."""
    heads_first = [one.transpose(1, 2) for one in (do, q, k, v, o)]
    none = _no_numbers(q)
    return _gradients("_scaled_dot_product_cudnn_attention_backward", heads_first,
                      lse.transpose(1, 2).contiguous().unsqueeze(-1),
                      (none, none, None, None, None, seq, key_seq, 0.0, bool(causal) and seq > 1), scale=scale)
