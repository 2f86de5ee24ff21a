"""What a call of gla_bench.ops costs the host, and a GLA layer beside flash-linear-attention's."""

import time

import torch

from checked import BOUNDS, DEVICE, check, decays, expect, normal, note, rel_l2
from gla_bench import ops


def microseconds(work, calls=2000):
    """What a call costs the host, where the device is faster."""
    for _ in range(50):
        work()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    seconds = time.perf_counter() - begin
    torch.cuda.synchronize()
    return 1e6 * seconds / calls


def milliseconds(work, calls=20):
    """The device's time of a call, the median of calls between events."""
    for _ in range(5):
        work()
    events = []
    for _ in range(calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        events.append((begin, end))
    torch.cuda.synchronize()
    return sorted(begin.elapsed_time(end) for begin, end in events)[calls // 2]


def overheads():
    small = [normal(1, 16, 1, 64, dtype=torch.bfloat16) for _ in range(3)]
    gates = decays(1, 16, 1, 64, dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    ops.gla(*small, gates)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        ops.gla(*small, gates)
    heads = [one.transpose(1, 2) for one in small]
    for what, work in (
            ("gla", lambda: ops.gla(*small, gates)),
            ("attention", lambda: ops.attention(*small)),
            ("torch's scaled_dot_product_attention",
             lambda: torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)),
            ("gla as a replayed graph", graph.replay)):
        check(f"host time of {what}", lambda work=work: f"{microseconds(work):.1f} us a call")


def gradients(function, leaves, weights):
    """A call that runs a function and its backward: the function's output, then the leaves' gradients."""
    def step():
        o = function()
        return (o, *torch.autograd.grad(o, leaves, weights))
    return step


def compared(ours, theirs, tokens):
    """Times two calls that return the same tensors, and holds these to each other."""
    pairs = list(zip(ours(), theirs()))
    differences = [rel_l2(one, other.double()) for one, other in pairs]
    expect(max(differences) < 2 * BOUNDS[torch.bfloat16], f"they differ by {differences}")
    del pairs
    ms, their_ms = milliseconds(ours), milliseconds(theirs)
    return (f"{1e3 * tokens / ms:.4g} tokens/s ({ms:.3f} ms), fla {1e3 * tokens / their_ms:.4g} ({their_ms:.3f} ms), "
            f"{their_ms / ms:.2f} x; differ {max(differences):.1e}")


def memory(function, leaves, weights):
    """MB that autograd keeps from a forward for its backward, and the most that a step takes at a time.

    Both are without what is there before, such as the inputs, and what is kept is without the output.
    """
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    o = function()
    kept = torch.cuda.memory_allocated() - before - o.nbytes
    made = torch.autograd.grad(o, leaves, weights)
    most = torch.cuda.max_memory_allocated() - before
    del made
    return kept / 1e6, most / 1e6


def compared_memory(ours, theirs, leaves, weights):
    """Two functions' memory of a step, in words."""
    (kept, most), (their_kept, their_most) = (memory(one, leaves, weights) for one in (ours, theirs))
    return f"keeps {kept:.0f} MB, fla {their_kept:.0f}; takes {most:.0f} MB at most, fla {their_most:.0f}"


def kernel_speed(batch, seq, heads, chunk_gla):
    """gla alone, forward and with its backward. `chunk_gla`: of flash-linear-attention, or None."""
    tokens = batch * seq
    q, k, v = (normal(batch, seq, heads, 128, dtype=torch.bfloat16).requires_grad_() for _ in range(3))
    g = decays(batch, seq, heads, 128, dtype=torch.bfloat16).requires_grad_()
    weights = normal(batch, seq, heads, 128, dtype=torch.bfloat16)

    def forward(function):
        def call():
            with torch.no_grad():
                return (function(q, k, v, g)[0],)
        return call

    def both(function):
        return gradients(lambda: function(q, k, v, g)[0], (q, k, v, g), weights)

    for direction, call in (("forward", forward), ("forward and backward", both)):
        what = f"gla of B={batch} T={seq} H={heads} K=V=128, {direction}"
        if chunk_gla is None:
            check(what, lambda call=call: f"{1e3 * tokens / milliseconds(call(ops.gla)):.4g} tokens/s")
        else:
            check(what, compared, call(ops.gla), call(chunk_gla), tokens)
    if chunk_gla is not None:
        check("  memory of that step", compared_memory, lambda: ops.gla(q, k, v, g)[0],
              lambda: chunk_gla(q, k, v, g)[0], (q, k, v, g), weights)
    for direction in ("forward", "backward"):
        plan = ops.plan(ops.gla, q, k, v, g, direction=direction)
        note(f"  which runs {direction}", True, f"{plan.variant} {dict(plan.tile)}")


def layer():
    """A GLA layer by flash-linear-attention, and with its kernel replaced by ours; forward, and trained."""
    batch, seq, width, heads = 8, 4096, 2048, 16
    try:
        import fla.layers.gla as theirs  # pylint: disable=import-outside-toplevel
    except Exception as error:  # pylint: disable=broad-except
        kernel_speed(batch, seq, heads, None)
        # That it is not there is no fault; that it cannot be imported is one.
        note("beside flash-linear-attention", isinstance(error, ModuleNotFoundError),
             f"not compared: it cannot be imported ({type(error).__name__}: {error})")
        return
    kernel_speed(batch, seq, heads, theirs.chunk_gla)
    layer = theirs.GatedLinearAttention(hidden_size=width, num_heads=heads, expand_k=1.0, expand_v=1.0,
                                        mode="chunk").to(DEVICE, torch.bfloat16)
    x = normal(batch, seq, width, dtype=torch.bfloat16).requires_grad_()
    weights = normal(batch, seq, width, dtype=torch.bfloat16)
    leaves = [x, *layer.parameters()]
    kept = theirs.chunk_gla

    def by_ops(q, k, v, g=None, gk=None, scale=None, initial_state=None, output_final_state=False,
               cu_seqlens=None, **_):
        return ops.gla(q, k, v, g if gk is None else gk, scale=scale, initial_state=initial_state,
                       output_final_state=output_final_state, cu_seqlens=cu_seqlens)

    def with_kernel(kernel, call):
        def work():
            theirs.chunk_gla = kernel
            try:
                return call()
            finally:
                theirs.chunk_gla = kept
        return work

    def forward():
        with torch.no_grad():
            return (layer(x)[0],)

    for what, call in (("forward", forward),
                       ("forward and backward", gradients(lambda: layer(x)[0], leaves, weights))):
        check(f"GLA layer, B={batch} T={seq} d={width} H={heads}, {what}", compared,
              with_kernel(by_ops, call), with_kernel(kept, call), batch * seq)
    check("  memory of that step", compared_memory, with_kernel(by_ops, lambda: layer(x)[0]),
          with_kernel(kept, lambda: layer(x)[0]), leaves, weights)
