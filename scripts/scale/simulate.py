#!/usr/bin/env python3
"""What a sweep over many GPUs costs, simulated from recorded times.

    scripts/scale/simulate.py [--gpus 1000] [--problems 10000] [--tiles 200] [--cores 16] [--slow 0.01] [--seed 1]

A simulated problem is a recorded one: each of its candidates takes the seconds of one of the recorded rows of that
problem, and needs that row's kernel, which took its recorded seconds to compile. Problems are dealt out as `--shard`
does it, by what the program expects of them before it runs, or handed out as gla-bench-mpi does it. Some GPUs are slow.
What records do not hold has no part in it: references, the start of a worker, the network."""

import argparse
import heapq
import json
import os
import random
import statistics
import tarfile
from collections import defaultdict

RESULTS = os.path.join(os.path.dirname(__file__), "../../results/h200")
KERNEL_OF = ("operator", "direction", "dtype", "layout", "options", "initial_state", "final_state", "variant", "tile")
SLOWER = 1.5  # how many times as long a slow GPU takes
# What the program expects of a candidate besides its bytes and operations (harness/engine/duration.cpp).
EXPECTED_SECONDS, EXPECTED_BYTES_PER_SECOND, COMPARISONS = 0.25, 200e6, 2


def recorded_files():
    """The results files whose rows say how long the work on them took."""
    with open(os.path.join(RESULTS, "headline.json"), encoding="utf-8") as file:
        yield json.load(file)
    with tarfile.open(os.path.join(RESULTS, "search/drawn.tar.xz")) as packed:
        for name in packed.getnames():
            yield json.load(packed.extractfile(name))


def kernel_of(record):
    """Rows with the same text need the same kernel: of the shape, a kernel knows the head dimensions."""
    shape = record["shape"]
    dims = [shape.get(key) for key in ("key_dim", "value_dim")] if isinstance(shape, dict) else []
    return json.dumps([record.get(key) for key in KERNEL_OF] + dims, sort_keys=True)


def recorded_problems():
    """For each problem with at least five rows: (seconds, kernel) of each, and what is expected of one."""
    problems, compile_seconds = defaultdict(list), {}
    for results in recorded_files():
        for record in results["records"]:
            if record["status"] != "measured" or not record.get("seconds"):
                continue
            kernel = kernel_of(record)
            if record.get("build") and not record["build"].get("cached"):
                compile_seconds[kernel] = record["build"]["seconds"]
            key = json.dumps([record[name] for name in ("operator", "direction", "dtype", "shape", "gate", "seed")])
            problems[key].append((record["seconds"], kernel, record["io"]["floor_bytes"]))
    usual = statistics.median(compile_seconds.values())
    return [rows for rows in problems.values() if len(rows) >= 5], compile_seconds, usual


class Sweep:
    """Simulated problems: what each takes, what is expected of it, and its kernels."""

    def __init__(self, options):
        recorded, self.compile_seconds, self.usual = recorded_problems()
        draw = random.Random(options.seed)
        self.takes, self.expected, self.kernels = [], [], []
        for _ in range(options.problems):
            rows = draw.choice(recorded)
            chosen = draw.choices(rows, k=options.tiles)
            self.takes.append(sum(seconds for seconds, _, _ in chosen))
            self.expected.append(options.tiles * (EXPECTED_SECONDS + COMPARISONS * rows[0][2] / EXPECTED_BYTES_PER_SECOND))
            self.kernels.append({kernel for _, kernel, _ in chosen})
        self.slow = [draw.random() < options.slow for _ in range(options.gpus)]
        self.recorded = len(recorded)

    def compile_time(self, kernels):
        return sum(self.compile_seconds.get(kernel, self.usual) for kernel in kernels)

    def on(self, gpu, problem):
        return self.takes[problem] * (SLOWER if self.slow[gpu] else 1)

    def longest_first(self):
        return sorted(range(len(self.takes)), key=lambda problem: -self.expected[problem])


def cut(sweep, gpus):
    """The problems of each shard, as `--shard` has them."""
    loads = [(0.0, 0, gpu) for gpu in range(gpus)]
    shards = [[] for _ in range(gpus)]
    for problem in sweep.longest_first():
        load, count, gpu = heapq.heappop(loads)
        shards[gpu].append(problem)
        heapq.heappush(loads, (load + sweep.expected[problem], count + 1, gpu))
    return shards


def handed_out(sweep, gpus):
    """The problems of each rank, as gla-bench-mpi hands them out."""
    free = [(0.0, gpu) for gpu in range(gpus)]
    shards = [[] for _ in range(gpus)]
    left = sweep.longest_first()[::-1]
    while left:
        time, gpu = heapq.heappop(free)
        problem = left.pop()
        shards[gpu].append(problem)
        heapq.heappush(free, (time + sweep.on(gpu, problem), gpu))
    return shards


def row(name, sweep, shards, cores):
    """A line of the table: when the last GPU is done, how idle the others are, and what compiling adds."""
    busy = [sum(sweep.on(gpu, problem) for problem in shard) for gpu, shard in enumerate(shards)]
    own = [set().union(*(sweep.kernels[problem] for problem in shard)) for shard in shards]
    alone = sum(sweep.compile_time(kernels) for kernels in own)
    shared = sweep.compile_time(set().union(*own))
    last, mean = max(busy), statistics.mean(busy)
    return (f"| {name} | {last / 60:.1f} | {mean / 60:.1f} | {100 * (1 - mean / last):.1f} % | "
            f"{alone / cores / len(shards) / 60:.2f} | {shared / cores / len(shards) / 60:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name, value in (("gpus", 1000), ("problems", 10000), ("tiles", 200), ("cores", 16), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--slow", type=float, default=0.01)
    options = parser.parse_args()
    sweep = Sweep(options)
    kernels = set().union(*sweep.kernels)
    print(f"{options.problems} problems of {options.tiles} candidates, drawn from {sweep.recorded} recorded ones; "
          f"{len(kernels)} kernels; {options.gpus} GPUs with {options.cores} cores each, {sum(sweep.slow)} of them slow; the longest "
          f"problem takes {max(sweep.takes) / 60:.1f} min")
    print("| problems are | last GPU, min | mean GPU, min | idle | compiling for each GPU, min | with one cache, min |")
    print("|---|---:|---:|---:|---:|---:|")
    print(row("cut (`--shard`)", sweep, cut(sweep, options.gpus), options.cores))
    print(row("handed out (`gla-bench-mpi`)", sweep, handed_out(sweep, options.gpus), options.cores))


if __name__ == "__main__":
    main()
