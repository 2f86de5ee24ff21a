"""The operators of gla_bench.ops in float64, by their definitions (docs/operators.md), in plain torch.

Autograd differentiates them. They are slow, and share nothing with what they judge.
"""

import torch


def rounded(tensor):
    """A tensor's values in float64, as a leaf of its own that has a gradient."""
    return tensor.detach().to(torch.float64).requires_grad_()


def _sequences(q, cu_seqlens):
    if cu_seqlens is None:
        return [(batch, slice(0, q.size(1))) for batch in range(q.size(0))]
    ends = cu_seqlens.tolist()
    return [(0, slice(begin, end)) for begin, end in zip(ends, ends[1:])]


def recurrence(q, k, v, decay, *, scale, initial_state=None, cu_seqlens=None, bonus=None,
               initial_normalizer=None, normalize=False):
    """o, the final states and the final normalizers. decay: the factors of states, [B,T,H,K]."""
    o = torch.zeros(v.shape, dtype=v.dtype, device=v.device)
    rows, states, normalizers = [], [], []
    for index, (batch, tokens) in enumerate(_sequences(q, cu_seqlens)):
        state = q.new_zeros(q.size(2), q.size(3), v.size(3))
        if initial_state is not None:
            state = initial_state[index]
        sums = q.new_zeros(q.size(2), q.size(3)) if initial_normalizer is None else initial_normalizer[index]
        outputs = []
        for t in range(tokens.start, tokens.stop):
            update = k[batch, t][:, :, None] * v[batch, t][:, None, :]
            before = state
            state = decay[batch, t][:, :, None] * state + update
            sums = decay[batch, t] * sums + k[batch, t]
            read = state if bonus is None else before + bonus[:, :, None] * update
            output = scale * torch.einsum("hk,hkv->hv", q[batch, t], read)
            if normalize:
                output = output / (scale * (q[batch, t] * sums).sum(-1) + 1e-6)[:, None]
            outputs.append(output)
        if outputs:
            rows.append((batch, tokens, torch.stack(outputs)))
        states.append(state)
        normalizers.append(sums)
    for batch, tokens, values in rows:
        o = o.index_put((torch.tensor([batch], device=o.device)[:, None],
                         torch.arange(tokens.start, tokens.stop, device=o.device)[None, :]), values[None])
    return o, torch.stack(states), torch.stack(normalizers)


def _scale(q, scale):
    return q.size(-1) ** -0.5 if scale is None else scale


def gla(q, k, v, log_decay, *, scale=None, initial_state=None, cu_seqlens=None):
    return recurrence(q, k, v, log_decay.exp(), scale=_scale(q, scale), initial_state=initial_state,
                      cu_seqlens=cu_seqlens)[:2]


def simple_gla(q, k, v, log_decay, *, scale=None, initial_state=None, cu_seqlens=None):
    return gla(q, k, v, log_decay[..., None].expand(q.shape), scale=scale, initial_state=initial_state,
               cu_seqlens=cu_seqlens)


def retention(q, k, v, log_decay, *, scale=None, initial_state=None, cu_seqlens=None):
    return gla(q, k, v, log_decay[None, None, :, None].expand(q.shape), scale=scale,
               initial_state=initial_state, cu_seqlens=cu_seqlens)


def rwkv6(q, k, v, log_decay, bonus, *, gate_input="log", scale=None, initial_state=None, cu_seqlens=None):
    logs = -log_decay.exp() if gate_input == "raw" else log_decay
    return recurrence(q, k, v, logs.exp(), scale=1.0 if scale is None else scale, bonus=bonus,
                      initial_state=initial_state, cu_seqlens=cu_seqlens)[:2]


def linear_attention(q, k, v, *, feature_map="identity", normalize=False, scale=None, initial_state=None,
                     initial_normalizer=None, cu_seqlens=None):
    if feature_map == "elu_plus_one":
        q, k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    outputs = recurrence(q, k, v, torch.ones_like(k), scale=_scale(q, scale), initial_state=initial_state,
                         initial_normalizer=initial_normalizer, normalize=normalize, cu_seqlens=cu_seqlens)
    return outputs if normalize else outputs[:2]


def _attention(q, k, v, bias, causal, scale):
    groups = q.size(2) // k.size(2)
    k, v = (x.repeat_interleave(groups, dim=2) for x in (k, v))
    logits = scale * torch.einsum("bihk,bjhk->bhij", q, k)
    if bias is not None:
        logits = logits + bias
    if causal:
        seen = torch.arange(k.size(1), device=q.device)[None, :] <= \
            torch.arange(q.size(1), device=q.device)[:, None] + k.size(1) - q.size(1)
        logits = logits.masked_fill(~seen, -torch.inf)
    lse = torch.logsumexp(logits, -1)
    return torch.einsum("bhij,bjhv->bihv", torch.softmax(logits, -1), v), lse.transpose(1, 2)


def attention(q, k, v, *, causal=True, scale=None, cu_seqlens=None, cu_seqlens_k=None):
    if cu_seqlens is not None:
        ends = zip(_sequences(q, cu_seqlens), _sequences(k, cu_seqlens if cu_seqlens_k is None else cu_seqlens_k))
        parts = [attention(q[:, at], k[:, keys], v[:, keys], causal=causal, scale=scale)
                 for (_, at), (_, keys) in ends]
        return tuple(torch.cat(outputs, 1) for outputs in zip(*parts))
    return _attention(q, k, v, None, causal, _scale(q, scale))


def decay_attention(q, k, v, log_decay, *, scale=None):
    if log_decay.dim() == 1:
        log_decay = log_decay.expand(q.size(0), k.size(1), -1)
    sums = log_decay.cumsum(1).transpose(1, 2)
    queries = sums[:, :, k.size(1) - q.size(1):]
    return _attention(q, k, v, queries[..., :, None] - sums[..., None, :], True, _scale(q, scale))


def softmax(x, *, scale=None):
    return torch.softmax((1.0 if scale is None else scale) * x, -1)
