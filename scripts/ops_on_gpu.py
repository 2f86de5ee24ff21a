#!/usr/bin/env python3
"""Checks gla_bench.ops on a GPU: scripts/ops_on_gpu.py [--quick | --layer]

It needs PyTorch with CUDA, the package with its module, such as build/python on PYTHONPATH, and the program
(GLA_BENCH_PROGRAM). What is checked: every operator against float64, forward and, where the program has it,
backward; the capture of CUDA graphs; torch's current stream; several threads; the choice beside the program's.
Then it times what a call costs the host and, beside flash-linear-attention where that can be imported, gla and a
GLA layer, forward and with the backward. It ends with a table, and with exit code 1 where something is wrong.
"""

import argparse
import concurrent.futures
import pathlib
import sys
import time
import warnings

import torch

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(SOURCE / "tests/python"), str(SOURCE / "scripts/ops")]

import float64_ops  # noqa: E402 (after the path to it)
import gla_bench  # noqa: E402
import times  # noqa: E402
from checked import BOUNDS, check, decays, expect, normal, print_table, rel_l2  # noqa: E402
from gla_bench import ops  # noqa: E402

B, T, H, K, V = 2, 200, 4, 64, 64


def name(dtype):
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def problems(dtype, batch=B, seq=T, heads=H, keys=K, values=V):
    """Each operator with its tensors and other arguments."""
    def qkv():
        return [normal(batch, seq, heads, keys, dtype=dtype), normal(batch, seq, heads, keys, dtype=dtype),
                normal(batch, seq, heads, values, dtype=dtype)]

    state = {"initial_state": normal(batch, heads, keys, values)}
    yield ops.gla, [*qkv(), decays(batch, seq, heads, keys, dtype=dtype)], state
    yield ops.simple_gla, [*qkv(), decays(batch, seq, heads, dtype=dtype)], state
    yield ops.retention, [*qkv(), decays(heads)], state
    yield ops.rwkv6, [*qkv(), decays(batch, seq, heads, keys, dtype=dtype),
                      normal(heads, keys, dtype=dtype)], {"scale": keys ** -0.5}
    yield ops.linear_attention, qkv(), state
    yield ops.attention, qkv(), {}
    yield ops.attention, qkv(), {"causal": False}
    yield ops.decay_attention, [*qkv(), decays(batch, seq, heads, dtype=dtype)], {}
    yield ops.softmax, [normal(64, 1000, dtype=dtype)], {}


def expected_of(function, tensors, more):
    leaves = [float64_ops.rounded(one) for one in tensors]
    states = {key: float64_ops.rounded(one) if isinstance(one, torch.Tensor) else one for key, one in more.items()}
    outputs = getattr(float64_ops, function.__name__)(*leaves, **states)
    return (outputs if isinstance(outputs, tuple) else (outputs,)), leaves


def is_recurrence(function):
    return function not in (ops.attention, ops.decay_attention, ops.softmax)


def forward(function, tensors, more):
    expected, _ = expected_of(function, tensors, more)
    wanted = {} if function is ops.softmax else \
        {"output_final_state" if is_recurrence(function) else "output_lse": True}
    with ops.record() as ran:
        found = function(*tensors, **more, **wanted)
    found = found if isinstance(found, tuple) else (found,)
    errors = [rel_l2(one, other) for one, other in zip(found, expected)]
    expect(max(errors) < BOUNDS[tensors[0].dtype], f"relative errors {errors}")
    return f"{ran[0].variant}, error {max(errors):.1e}"


def backward(function, tensors, more):
    try:
        plan = ops.plan(function, *tensors, **more, direction="backward", prepare=True)
    except NotImplementedError as error:
        return f"not there yet: {error}"[:90]
    expected, references = expected_of(function, tensors, more)
    leaves = [one.detach().requires_grad_() for one in tensors]
    found = function(*leaves, **more)
    o = found[0] if isinstance(found, tuple) else found
    weights = torch.randn_like(o)
    o.backward(weights)
    expected[0].backward(weights.double())
    errors = [rel_l2(one.grad, other.grad) for one, other in zip(leaves, references)]
    expect(max(errors) < 2 * BOUNDS[tensors[0].dtype], f"relative errors {errors}")
    return f"{plan.variant}, error {max(errors):.1e}"


def captured(function, tensors, more):
    """A replay reads what lies in the graph's inputs then, and gives what a call gives."""
    inputs = [one.clone() for one in tensors]
    function(*inputs, **more)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = function(*inputs, **more)
    o = o[0] if isinstance(o, tuple) else o
    for one, other in zip(inputs, tensors):
        one.copy_(other.flip(0))
    graph.replay()
    expected = function(*inputs, **more)
    expected = expected[0] if isinstance(expected, tuple) else expected
    torch.cuda.synchronize()
    expect(torch.equal(o, expected), "a replay gives other bits than a call")
    return ""


def captured_training():
    """Forward and backward of attention in one graph."""
    leaves = [normal(B, T, H, K, dtype=torch.bfloat16).requires_grad_() for _ in range(3)]
    gradient = normal(B, T, H, K, dtype=torch.bfloat16)

    def step():
        return torch.autograd.grad(ops.attention(*leaves, backward_variant="flash2_deterministic"), leaves, gradient)

    expected = step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    graph.replay()
    torch.cuda.synchronize()
    expect(all(torch.equal(one, other) for one, other in zip(found, expected)), "other gradients")
    return ""


def the_program_chooses_the_same():
    shape = (2, 512, 4, 64, 64)
    (record,) = gla_bench.verify({"backend": "cuda", "sweeps": [
        {"operator": "gla", "dtypes": ["bfloat16"], "variants": ["auto"], "final_state": False,
         "shapes": [list(shape)]}]})
    _, tensors, _ = next(problems(torch.bfloat16, *shape))
    plan = ops.plan(ops.gla, *tensors)
    expect((plan.variant, plan.tile) == (record.variant, record.tile),
           f"{plan.variant} {plan.tile}, and the program {record.variant} {record.tile}")
    return f"{plan.variant}, by {plan.chosen_by['how']}"


def refused_in_a_capture():
    tensors = [normal(1, 77, 2, 32, dtype=torch.bfloat16) for _ in range(3)]
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            ops.attention(*tensors)
    except RuntimeError as error:
        expect("inside the capture" in str(error), str(error))
        torch.cuda.synchronize()
        return "refused in words"
    raise AssertionError("the first call inside of a capture was not refused")


def current_stream():
    """On a stream that is behind, a call sees what is written there before it."""
    tensors = [normal(1, 128, 2, 64, dtype=torch.bfloat16) for _ in range(3)]
    late = [normal(1, 128, 2, 64, dtype=torch.bfloat16) for _ in range(3)]
    expected = ops.attention(*late)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # pylint: disable=protected-access
        for one, other in zip(tensors, late):
            one.copy_(other)
        found = ops.attention(*tensors)
    stream.synchronize()
    expect(torch.equal(found, expected), "the call did not wait for its own stream")
    return ""


def several_threads():
    tensors = [normal(2, 256, 4, 64, dtype=torch.bfloat16) for _ in range(3)]
    expected = ops.attention(*tensors)
    torch.cuda.synchronize()

    def work(_):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            found = [ops.attention(*tensors) for _ in range(50)]
        stream.synchronize()
        return all(torch.equal(one, expected) for one in found)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        expect(all(pool.map(work, range(8))), "other bits in another thread")
    return ""


def other_device():
    if torch.cuda.device_count() < 2:
        return "one device only"
    tensors = [normal(1, 64, 2, 64, dtype=torch.bfloat16) for _ in range(3)]
    there = [one.to("cuda:1") for one in tensors]
    expect(torch.equal(ops.attention(*there).cpu(), ops.attention(*tensors).cpu()), "another result on cuda:1")
    return ""


def prepare_all(work):
    """Compiles what the checks need on all cores."""
    def prepare(item):
        function, tensors, more, direction = item
        try:
            ops.plan(function, *tensors, **more, direction=direction, prepare=True)
        except Exception:  # pylint: disable=broad-except
            pass  # its own check says so

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(prepare, work))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="bfloat16 alone, and no times")
    parser.add_argument("--layer", action="store_true", help="nothing but the times beside flash-linear-attention")
    parser.add_argument("--allow", nargs="*", default=[],
                        help="facts of the tuned table's environment that may differ (gla-bench compare --help)")
    parsed = parser.parse_args()
    quick = parsed.quick
    if not torch.cuda.is_available():
        print("skipped: torch finds no CUDA device")
        return 77
    # Such as that there is no tuned table, so that defaults are timed: a line of its own on stdout.
    warnings.showwarning = lambda message, *_: print(f"warning: {message}")
    torch.manual_seed(1)
    ops.configure(allow=parsed.allow)
    print("\n".join(ops.goes_by("cuda")))
    if parsed.layer:
        times.layer()
        return print_table()
    dtypes = [torch.bfloat16] if quick else list(BOUNDS)
    work = [(dtype, *problem) for dtype in dtypes for problem in problems(dtype)]
    begin = time.perf_counter()
    prepare_all([(*problem, direction) for _, *problem in work for direction in ("forward", "backward")])
    print(f"compiled in {time.perf_counter() - begin:.0f} s", flush=True)
    for dtype, function, tensors, more in work:
        options = ", full" if more.get("causal") is False else ""
        check(f"{function.__name__} {name(dtype)}{options}", forward, function, tensors, more)
        if function is not ops.softmax:
            check(f"{function.__name__} {name(dtype)}{options} backward", backward, function, tensors, more)
    for function, tensors, more in problems(torch.bfloat16):
        check(f"{function.__name__} in a graph", captured, function, tensors, more)
    _, tensors, more = next(problems(torch.bfloat16))
    check("gla through cuBLAS in a graph", captured, ops.gla, tensors, {**more, "variant": "parallel_cublas"})
    check("attention through cuBLAS in a graph", captured, ops.attention, tensors[:3], {"variant": "materialized"})
    check("attention and its backward in a graph", captured_training)
    check("auto as the program's", the_program_chooses_the_same)
    check("a first call in a capture", refused_in_a_capture)
    check("the current stream", current_stream)
    check("several threads", several_threads)
    check("another device", other_device)
    if not quick:
        times.overheads()
        times.layer()
    return print_table()


if __name__ == "__main__":
    sys.exit(main())
