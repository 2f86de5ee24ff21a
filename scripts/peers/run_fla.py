#!/usr/bin/env python3
"""Runs flash-linear-attention on the problems of a config and writes records with `peer: true`.

    scripts/peers/run_fla.py configs/h200/gla.json -o results/peers.json

Each peer is verified against a float64 recurrence from the same rounded inputs and timed as the
project's own candidates are: events round one call, L2 made cold before each sample by reading a
clean buffer, the median of all samples. Two figures each: replayed from a CUDA graph (no launch
gaps) and as called from Python (`.eager`). What is not installed is skipped by name.
"""

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
CAPS = {"bfloat16": 4e-3, "float16": 2e-3, "float32": 1e-3}


def gates(name, shape, generator):
    """Natural-log gates [B,T,H,K] of a named regime (reference/inputs.hpp holds the definitions)."""
    normal = torch.randn(shape, generator=generator, device="cuda")
    uniform = torch.rand(shape[:3], generator=generator, device="cuda").unsqueeze(-1)
    if name == "none":
        return torch.zeros(shape, device="cuda")
    if name == "mild":
        return F.logsigmoid(normal) / 16
    if name == "typical":
        return F.logsigmoid(normal)
    if name == "rwkv":
        return -torch.exp(normal * 1.5 - 3)
    if name == "strong":
        return F.logsigmoid(normal) / 0.1
    if name == "spikes":
        return torch.where(uniform < 0.1, torch.full_like(normal, -30.0), F.logsigmoid(normal) / 16)
    return None  # resets, per_channel: these peers are not made for them


def reference(q, k, v, g, scale):
    """o and the final state by the recurrence in float64; q, k, g [B,T,H,K], v [B,T,H,V]."""
    q, k, v, decay = q.double(), k.double(), v.double(), g.double().exp()
    state = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3], dtype=torch.float64, device="cuda")
    out = torch.empty_like(v)
    for t in range(q.shape[1]):
        state.mul_(decay[:, t, :, :, None]).addcmul_(k[:, t, :, :, None], v[:, t, :, None, :])
        torch.matmul(q[:, t, :, None, :], state, out=(row := torch.empty_like(v[:, t, :, None, :])))
        out[:, t] = row.squeeze(2) * scale
    return {"o": out, "final_state": state}


def verdict(got, expected, bound):
    got = got.double()
    rms = expected.pow(2).mean().sqrt()
    rel = ((got - expected).norm() / expected.norm()).item()
    tokens = expected.shape[1] if expected.dim() == 4 else 1
    worst = 0.0
    for start in range(0, tokens, 64):
        a, b = got[:, start:start + 64], expected[:, start:start + 64]
        worst = max(worst, ((a - b).norm() / b.norm()).item())
    return {
        "rel_l2": rel,
        "max_abs": ((got - expected).abs().max() / rms).item(),
        "worst_chunk_rel_l2": worst,
        "bound": bound,
        "ok": bool(rel <= bound),
    }


class Timer:
    def __init__(self):
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

    def series(self, call, samples=30):
        for _ in range(5):
            self.once(call)
        times = [self.once(call) for _ in range(samples)]
        cuts = statistics.quantiles(times, n=10, method="inclusive")
        return {
            "median_ms": statistics.median(times),
            "min_ms": min(times),
            "p20_ms": cuts[1],
            "p80_ms": cuts[7],
            "samples_ms": times,
            "stopped_because": "samples",
        }


def graph_of(call):
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


def shapes_of(sweep):
    shapes = sweep["shapes"]
    if isinstance(shapes, list):
        return shapes
    names = ["batch", "seq", "heads", "key_dim", "value_dim"]
    if "zip" in shapes:
        return [dict(zip(names, row)) for row in zip(*(shapes["zip"][n] for n in names))]
    rows = [{}]
    for n in names:
        rows = [{**row, n: value} for row in rows for value in shapes["product"][n]]
    return rows


def problems(config):
    """(operator, dtype, gate, seed, shape) of each forward problem without an initial state."""
    for sweep in config["sweeps"]:
        if sweep["operator"] != "gla" or "shapes" not in sweep:
            continue
        for dtype in sweep.get("dtypes", ["bfloat16"]):
            for gate in sweep.get("gates", ["mild"]):
                for shape in shapes_of(sweep):
                    yield dtype, gate, sweep.get("seed", 1), shape


def records_of(dtype, gate, seed, shape, timer, calls):
    b, t, h, kd, vd = (shape[n] for n in ("batch", "seq", "heads", "key_dim", "value_dim"))
    generator = torch.Generator(device="cuda").manual_seed(seed)
    g = gates(gate, (b, t, h, kd), generator)
    if g is None:
        print(f"skipped: {gate} gates are outside what the peer is made for", file=sys.stderr)
        return
    io = DTYPES[dtype]
    q, k = (torch.randn(b, t, h, kd, generator=generator, device="cuda").to(io) for _ in range(2))
    v = torch.randn(b, t, h, vd, generator=generator, device="cuda").to(io)
    g = g.to(io)
    scale = kd**-0.5
    expected = reference(q, k, v, g, scale)
    element = torch.finfo(io).bits // 8
    floor = b * t * h * (3 * kd + 2 * vd) * element + b * h * kd * vd * 4
    for name, function in calls.items():
        call = lambda: function(q, k, v, g, scale=scale, output_final_state=True)
        record = {
            "operator": "gla", "direction": "forward", "variant": name, "backend": "cuda",
            "dtype": dtype, "layout": "seq_first", "shape": shape, "gate": gate, "seed": seed,
            "tile": {}, "status": "measured", "reason": "", "io": {"floor_bytes": floor},
            "source_hash": "", "peer": True,
        }
        try:
            o, state = call()
            tensors = {
                "o": verdict(o, expected["o"], CAPS[dtype]),
                "final_state": verdict(state, expected["final_state"], CAPS[dtype]),
            }
            ok = all(entry["ok"] for entry in tensors.values())
            record["verification"] = {"ok": ok, "tensors": tensors}
            if not ok:
                record.update(status="wrong", reason="outside the cap")
            eager = {**record, "variant": name + ".eager", "timing": {"cold": timer.series(call)}}
            record["timing"] = {"cold": timer.series(graph_of(call))}
            yield record
            yield eager
        except Exception as error:  # a peer that fails is a row, not the end of the run
            yield {**record, "status": "run_failed", "reason": f"{type(error).__name__}: {error}"}


def write(path, environment, config, records):
    """The whole file, replaced at once: what was measured so far survives an interruption."""
    rows = ",\n".join(json.dumps(record) for record in records)
    with open(path + ".new", "w") as file:
        file.write('{"schema_version": 1,\n"environment": %s,\n"config": %s,\n"records": [\n%s\n]}\n'
                   % (json.dumps(environment), json.dumps(config), rows))
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--first", type=int, help="only the first so many problems")
    arguments = parser.parse_args()
    try:
        import fla
        from fla.ops.gla import chunk_gla, fused_recurrent_gla
    except ImportError as error:
        print(f"skipped: flash-linear-attention is not installed ({error})", file=sys.stderr)
        return 0

    def recurrent(q, k, v, g, scale, output_final_state):
        return fused_recurrent_gla(q, k, v, gk=g, scale=scale, output_final_state=output_final_state)

    calls = {"fla.chunk_gla": chunk_gla, "fla.fused_recurrent_gla": recurrent}
    with open(arguments.config) as file:
        config = json.load(file)
    environment = {
        "device": torch.cuda.get_device_name(0),
        "peer": f"flash-linear-attention {fla.__version__}, PyTorch {torch.__version__}",
        "python": platform.python_version(),
        "driver": subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, check=False).stdout.strip(),
        "command_line": " ".join(sys.argv),
    }
    records = []
    timer = Timer()
    for dtype, gate, seed, shape in itertools.islice(problems(config), arguments.first):
        begin = time.time()
        for record in records_of(dtype, gate, seed, shape, timer, calls):
            records.append(record)
            cold = record.get("timing", {}).get("cold", {}).get("median_ms")
            print(record["variant"], dtype, gate, list(shape.values()), record["status"], cold,
                  f"{time.time() - begin:.1f} s", record["reason"], file=sys.stderr)
        torch.cuda.empty_cache()
        write(arguments.output, environment, config, records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
