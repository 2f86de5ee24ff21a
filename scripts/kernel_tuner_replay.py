#!/usr/bin/env python3
"""Replays Kernel Tuner's searches on recorded spaces, beside this program's own.

    kernel_tuner_replay.py FILE... [--strategy bayes_opt] [--evaluations N...] [--seeds N]
                           [--program GLA_BENCH]

FILE holds records of an exhaustive measurement, such as results/h200/search/exhaustive_gla.json. Kernel Tuner
(its package from PyPI, at least 1.0) searches each problem in its simulation mode: it is told the recorded
times, and nothing runs. A space holds all variants: which one is a parameter, and the axes of the others are
then absent (-1). For each number of evaluations the table says how far the best that was found is from the
best there is, over the seeds, and what compiling the tried candidates took. The last row of a problem is
`gla-bench tune --replay` with the same seeds, whose predictions have not seen the problem's shape.

Without the package it says so and ends with 77.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

ABSENT = -1


def problems_of(paths):
    """{problem's text: [(variant, tile, median ms, samples ms, compile seconds)]} of what is right."""
    problems = collections.defaultdict(list)
    for path in paths:
        for record in json.loads(pathlib.Path(path).read_text())["records"]:
            if record["status"] != "measured" or record.get("peer") or record["timing"]["suspect"]:
                continue
            shape = " ".join(f"{key}={value}" for key, value in record["shape"].items())
            name = f"{record['operator']} {record['direction']} {record['dtype']} {shape} {record['gate']}"
            cold = record["timing"]["cold"]
            problems[name].append((record["variant"], record["tile"], cold["median_ms"],
                                   cold["samples_ms"], (record["build"] or {}).get("seconds", 0)))
    return problems


def space_of(rows):
    """The parameters of a space of all variants, the rows' values of them, and what restricts them."""
    variants = sorted({row[0] for row in rows})
    axes = sorted({axis for row in rows for axis in row[1]})
    points = [(variants.index(row[0]),) + tuple(row[1].get(axis, ABSENT) for axis in axes)
              for row in rows]
    names = ["variant"] + axes
    values = {name: sorted({point[i] for point in points}) for i, name in enumerate(names)}
    # One pair after the other, so that the space is not formed as a product of all axes.
    pairs = [{(point[0], point[i]) for point in points} for i in range(len(names))]
    restrictions = [
        " or ".join(f"(variant == {variant} and {names[i]} in "
                    f"[{', '.join(str(v) for w, v in sorted(pairs[i]) if w == variant)}])"
                    for variant in range(len(variants)))
        for i in range(1, len(names))]
    return names, values, points, restrictions


def cache_of(rows, names, values, points):
    """The cache file that simulation mode reads."""
    entries = {}
    for row, point in zip(rows, points):
        key = ",".join(str(value) for value in point)
        entries[key] = dict(zip(names, point), time=row[2], times=row[3], compile_time=1e3 * row[4],
                            verification_time=0, benchmark_time=sum(row[3]), strategy_time=0,
                            framework_time=0, timestamp="2026-01-01T00:00:00+00:00")
    return {"device_name": "recorded", "kernel_name": "recorded", "problem_size": 1,
            "tune_params_keys": names, "tune_params": values, "objective": "time", "cache": entries}


def search(rows, strategy, evaluations, seed):
    """The median time (ms) of what Kernel Tuner returns, and the compile seconds of what it tried."""
    import kernel_tuner
    import numpy

    names, values, points, restrictions = space_of(rows)
    known = {point: row for point, row in zip(points, rows)}
    # What was not recorded, because it was refused or was wrong, is not in the space.
    conditions = " or ".join(
        "(" + " and ".join(f"{name} == {value}" for name, value in zip(names, point)) + ")"
        for point in points)
    restrictions = restrictions + [conditions]
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder) / "cache.json"
        cache.write_text(json.dumps(cache_of(rows, names, values, points)))
        random.seed(seed)
        numpy.random.seed(seed)
        tried, _ = kernel_tuner.tune_kernel(
            "recorded", "__global__ void recorded() {}", 1, [], values, restrictions=restrictions,
            strategy=strategy, strategy_options={"max_fevals": evaluations}, simulation_mode=True,
            cache=str(cache), verbose=False, quiet=True, lang="CUDA")
    found = {tuple(one[name] for name in names) for one in tried}
    times = [known[point] for point in found if point in known]
    if not times:
        return float("inf"), 0.0, 0
    return min(row[2] for row in times), sum(row[4] for row in times), len(times)


def own_replay(program, path, seeds):
    """The figures of `tune --replay`, by problem: regret, worst, tried, compile seconds."""
    text = subprocess.run([program, "tune", "--replay", path, "--seeds", str(seeds)],
                          capture_output=True, text=True, check=True).stdout
    figures = []
    for line in text.splitlines()[2:]:
        found = re.search(r"([\d.]+) %\s+([\d.]+) %\s+\d+/\d+\s+(\d+)\s+(\d+) s\s", line)
        if found:
            figures.append(tuple(float(value) for value in found.groups()))
    return figures


def percent(share):
    return f"{100 * share:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--strategy", default="bayes_opt", help="of Kernel Tuner (default: bayes_opt)")
    parser.add_argument("--evaluations", type=int, nargs="+", default=[16, 32, 48])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--most-problems", type=int, default=1000, help="only the first so many")
    parser.add_argument("--most-regret", type=float, default=float("inf"),
                        help="exit with 1 where gla-bench is worse by so many percent for any seed, or "
                             "worse than Kernel Tuner with the fewest evaluations in the median")
    parser.add_argument("--program", help="gla-bench, for the row of its own search")
    options = parser.parse_args()
    try:
        import kernel_tuner  # noqa: F401
    except ImportError:
        print("skipped: pip install kernel-tuner")
        return 77
    print("| problem | search | median regret | worst | tried | compile seconds |\n|---|---|--:|--:|--:|--:|")
    totals = collections.Counter()
    kept = True
    for path in options.files:
        own = own_replay(options.program, path, options.seeds) if options.program else []
        for number, (name, rows) in enumerate(problems_of([path]).items()):
            if number >= options.most_problems:
                break
            best = min(row[2] for row in rows)
            theirs = []
            for evaluations in options.evaluations:
                runs = [search(rows, options.strategy, evaluations, seed)
                        for seed in range(1, options.seeds + 1)]
                regrets = [run[0] / best - 1 for run in runs]
                compiling = statistics.median(run[1] for run in runs)
                theirs.append(100 * statistics.median(regrets))
                totals[f"Kernel Tuner, {evaluations} evaluations"] += compiling
                print(f"| {name} | {options.strategy}, {evaluations} | {percent(statistics.median(regrets))} "
                      f"| {percent(max(regrets))} | {statistics.median(run[2] for run in runs):.0f} "
                      f"| {compiling:.0f} |", flush=True)
            if number < len(own):
                regret, worst, tried, compiling = own[number]
                totals["gla-bench, guided"] += compiling
                kept = kept and worst <= options.most_regret and regret <= max(theirs[0], 2)
                print(f"| {name} | gla-bench, guided | {regret} % | {worst} % | {tried:.0f} "
                      f"| {compiling:.0f} |", flush=True)
    for name, seconds in totals.items():
        print(f"\n{name}: {seconds:.0f} core seconds of compiling for all problems")
    return 0 if kept or options.most_regret == float("inf") else 1


if __name__ == "__main__":
    sys.exit(main())
