"""Inputs, float64 references and timing of peers on a GPU. Imports PyTorch: only once it is needed."""

import math
import signal
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

import peer_clocks
import peer_problems as peers

MOST_COPIES = 256  # of a problem's tensors, for a sustained time
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def environment(peer):
    """What a results file says of the place; `peer` names the packages and their versions."""
    def ask(field):
        return subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={field}", "--format=csv,noheader"],
                              capture_output=True, text=True, check=False).stdout.strip()
    return {"device": torch.cuda.get_device_name(0), "driver": ask("driver_version"),
            "uuid": ask("uuid"), "peer": f"{peer}, PyTorch {torch.__version__}",
            "python": sys.version.split()[0], "command_line": " ".join(sys.argv),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def gates(regime, shape, generator):
    """Natural-log gates of a regime (reference/inputs.hpp holds the definitions)."""
    if regime == "none":
        return torch.zeros(shape, device="cuda")
    normal = torch.randn(shape, generator=generator, device="cuda")
    return {"mild": lambda: F.logsigmoid(normal) / 16, "typical": lambda: F.logsigmoid(normal),
            "rwkv": lambda: -torch.exp(normal * 1.5 - 3),
            "strong": lambda: F.logsigmoid(normal) / 0.1}[regime]()


def draw(problem):
    """Inputs of a problem by the operator's names for them, rounded to their dtypes."""
    shape, io = problem["shape"], DTYPES[problem["dtype"]]
    of_gates = DTYPES[peers.gate_dtype(problem)]
    b, t, h, kd, vd = (shape[name] for name in peers.EXTENTS)
    generator = torch.Generator(device="cuda").manual_seed(problem["seed"])
    rows, key_heads = shape.get("key_seq", t), shape.get("key_heads", h)

    def normal(*extents, dtype=io):
        return torch.randn(extents, generator=generator, device="cuda").to(dtype)

    if problem["options"].get("packed") == "true":  # slices of the rows of one projection
        widths = [h * kd, key_heads * kd, key_heads * vd]
        q, k, v = normal(b, t, sum(widths)).split(widths, dim=-1)
        inputs = {"q": q.unflatten(-1, (h, kd)), "k": k.unflatten(-1, (key_heads, kd)),
                  "v": v.unflatten(-1, (key_heads, vd))}
    else:
        inputs = {"q": normal(b, t, h, kd), "k": normal(b, rows, key_heads, kd),
                  "v": normal(b, rows, key_heads, vd)}
    if problem["operator"] in ("gla", "rwkv6"):
        inputs["g"] = gates(problem["gate"], (b, t, h, kd), generator).to(of_gates)
    if problem["operator"] == "simple_gla":
        inputs["g"] = gates(problem["gate"], (b, t, h), generator).to(of_gates)
    if problem["operator"] == "rwkv6":
        inputs["u"] = normal(h, kd)
    if problem["initial_state"]:
        inputs["initial_state"] = normal(b, h, kd, vd, dtype=torch.float32)
    return inputs


def log_decays(problem, inputs):
    """The decays' logarithms in float64, to be broadcast over [B,T,H,K]."""
    if "g" in inputs:
        g = inputs["g"].double()
        return g if g.dim() == 4 else g.unsqueeze(-1)
    heads = problem["shape"]["heads"]
    if problem["operator"] != "retention":
        return torch.zeros(1, 1, heads, 1, dtype=torch.float64, device="cuda")
    powers = -5.0 - torch.arange(heads, dtype=torch.float64, device="cuda")
    return torch.log1p(-torch.pow(2.0, powers)).view(1, 1, heads, 1)


def recurrence(problem, inputs, scale):
    """o and the final state by the recurrence, token by token in float64."""
    q, k, v = (inputs[name].double() for name in "qkv")
    tokens = q.shape[1]
    decay = log_decays(problem, inputs).exp()
    decay = decay.expand(-1, tokens, -1, -1)
    state = inputs.get("initial_state")
    b, _, h, kd = q.shape
    state = (torch.zeros(b, h, kd, v.shape[3], dtype=torch.float64, device="cuda")
             if state is None else state.double().clone())
    out = torch.empty_like(v)
    bonus = inputs["u"].double() if "u" in inputs else None
    for t in range(tokens):
        if bonus is not None:  # o reads the state before the update, and k v^T through the bonus
            out[:, t] = torch.einsum("bhk,bhkv->bhv", q[:, t], state)
            out[:, t] += (q[:, t] * bonus * k[:, t]).sum(-1, keepdim=True) * v[:, t]
        state.mul_(decay[:, t, :, :, None]).addcmul_(k[:, t, :, :, None], v[:, t, :, None, :])
        if bonus is None:
            out[:, t] = torch.einsum("bhk,bhkv->bhv", q[:, t], state)
    return {"o": out.mul_(scale), "final_state": state}


def attention(problem, inputs, scale):
    """o in float64 by the definition, some rows of queries at a time."""
    q, k, v = (inputs[name].double().transpose(1, 2) for name in "qkv")
    if problem["layout"] == "head_first":
        q, k, v = (inputs[name].double() for name in "qkv")
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) if group > 1 else x for x in (k, v))
    queries, keys = q.shape[2], k.shape[2]
    causal = problem["options"].get("causal", "true") == "true"
    out = torch.empty(*q.shape[:3], v.shape[3], dtype=torch.float64, device="cuda")
    rows = max(1, min(queries, 2**27 // (q.shape[0] * q.shape[1] * keys)))
    for first in range(0, queries, rows):
        last = min(first + rows, queries)
        scores = torch.matmul(q[:, :, first:last], k.transpose(2, 3)).mul_(scale)
        if causal:
            seen = torch.arange(keys, device="cuda") - (keys - queries)
            hidden = seen[None, :] > torch.arange(first, last, device="cuda")[:, None]
            scores.masked_fill_(hidden, -torch.inf)
        out[:, :, first:last] = torch.matmul(torch.softmax(scores, -1), v)
    return {"o": out.transpose(1, 2) if problem["layout"] == "seq_first" else out}


def errors(got, expected):
    """(rel_l2, max_abs, worst_chunk_rel_l2) of a [B,T,H,D] output or a state, as verify.hpp says."""
    if got is None or got.shape != expected.shape:
        return float("nan"), float("nan"), float("nan")
    difference = got.double() - expected
    rms = expected.pow(2).mean().sqrt()
    row = expected.pow(2).mean(-1, keepdim=True).sqrt()
    largest = (difference.abs() / torch.maximum(torch.maximum(row, rms), expected.abs())).max()
    worst, step = 0.0, 64
    for first in range(0, expected.shape[1], step):
        part = expected[:, first:first + step]
        error = (difference[:, first:first + step].norm() / part.norm().clamp_min(1e-300)).item()
        worst = max(worst, error) if error == error else error
        if error != error:
            break
    return (difference.norm() / expected.norm()).item(), largest.item(), worst


class Timer:
    """Milliseconds of single calls with a cold L2, between events. `clocks`: of the GPU."""

    def __init__(self, clocks):
        self.clocks = clocks
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.clean = torch.zeros(4 * l2, dtype=torch.uint8, device="cuda")
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def once(self, call):
        self.clean.view(torch.int64).sum()
        torch.cuda._sleep(200_000)  # the whole sequence is queued before any of it runs
        self.start.record()
        call()
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop)

    def samples(self, call, watch, count=30):
        for _ in range(5):
            self.once(call)
        times = []
        for _ in range(count):
            times.append(self.once(call))
            watch.look()
        return times

    def sustained(self, calls, watch, count=10, least_ms=5.0):
        """Milliseconds a call of calls back to back, round and round, after one round untimed: each
        on tensors of its own, which together exceed the L2 four times."""
        def rounds_of(number):
            self.start.record()
            for _ in range(number):
                for call in calls:
                    call()
            self.stop.record()
            self.stop.synchronize()
            return self.start.elapsed_time(self.stop)

        rounds_of(1)
        number = max(1, math.ceil(least_ms / max(rounds_of(1), 1e-3)))
        times = []
        for _ in range(count):
            times.append(rounds_of(number) / (number * len(calls)))
            watch.look()
        return times


def graph_of(call):
    """The call's kernels without the gaps between their launches."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


class Deadline:
    """Raises TimeoutError in the code inside after so many seconds; 0 means never."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        def late(_signal, _frame):
            raise TimeoutError(f"not done in {self.seconds:g} s")
        signal.signal(signal.SIGALRM, late)
        # Once more every second, for code that swallowed it.
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1.0)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)


def copies_beyond_cache(problem):
    """How many copies of a problem's tensors exceed the L2 four times, or None for too many. What
    the program does for its own candidates (harness/measure/measure.hpp)."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = math.ceil(4 * l2 / peers.floor_bytes(problem))
    return copies if copies <= MOST_COPIES else None


def copy_of(inputs):
    """The same tensors elsewhere; slices of one projection stay slices of one."""
    bases = {}

    def copy(tensor):
        base = tensor if tensor._base is None else tensor._base
        if base.data_ptr() not in bases:
            bases[base.data_ptr()] = base.clone()
        return bases[base.data_ptr()].as_strided(tensor.shape, tensor.stride(),
                                                 tensor.storage_offset())
    return {name: copy(tensor) for name, tensor in inputs.items()}


def measure(problem, peer, inputs, expected, timer, most_seconds):
    """The records of one peer (name, bind, outputs) on one problem. `bind` makes a call on given
    inputs, and `outputs` turns what that returns into tensors by name; a peer that fails is a row,
    not the end of the run."""
    variant, bind, outputs = peer
    times, wrong = {}, None
    try:
        with torch.no_grad(), Deadline(most_seconds):
            call = bind(inputs)
            got = outputs(call())
            wrong = {name: errors(got.get(name), expected[name]) for name in expected}
            del got
            watch = peer_clocks.Watch(timer.clocks)
            times["eager_ms"] = timer.samples(call, watch)
            graph = graph_of(call)
            times["graph_ms"] = timer.samples(graph, watch)
            copies = copies_beyond_cache(problem)
            if copies is not None:
                others = [copy_of(inputs) for _ in range(copies - 1)]
                graphs = [graph] + [graph_of(bind(each)) for each in others]
                times["sustained_ms"] = timer.sustained(graphs, watch)
                times["sustained_copies"] = copies
            times["clocks"] = watch.facts()
    except TimeoutError as error:
        return [peers.failed(problem, variant, "timeout", str(error))]
    except Exception as error:  # noqa: BLE001
        torch.cuda.synchronize()
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return [peers.failed(problem, variant, "run_failed", reason)]
    return peers.finished(problem, variant, wrong, times)


def say(record, seconds):
    """A line of progress."""
    ms = record.get("timing", {}).get("cold", {}).get("median_ms")
    figure = "-" if ms is None else f"{ms:.4f} ms"
    print(f"{record['variant']:40} {peers.describe(record):52} {record['status']:10} {figure:>12} "
          f"{seconds:6.1f} s  {record['reason']}", file=sys.stderr, flush=True)


def run(problem_list, calls_of, expected_of, output, config, facts, most_seconds):
    """All problems in turn; the file is written after each. `calls_of` gives measure()'s peers of
    a problem."""
    records, timer = [], Timer(peer_clocks.Clocks(facts["uuid"]))
    for problem in problem_list:
        begin = time.monotonic()
        inputs = draw(problem)
        with torch.no_grad():
            expected = expected_of(problem, inputs)
        for peer in calls_of(problem):
            for record in measure(problem, peer, inputs, expected, timer, most_seconds):
                records.append(record)
                say(record, time.monotonic() - begin)
            begin = time.monotonic()
        del inputs, expected
        torch.cuda.empty_cache()
        peers.write(output, facts, config, records)
    return records
