#!/usr/bin/env python3
"""Draws problems to tune, by a seed, over the whole space of shapes: draw_tuning.py --seed N [...] > config.json

Head dimensions are drawn first, and for each pair of them several problems, since one compilation serves all
lengths, batches and heads of the same head dimensions. Batch times heads and the number of tokens are drawn
evenly on a logarithmic scale (1 to 4,096, and 64 to 131,072). A problem is drawn again where its tensors are
larger than --most-gigabytes, or its operations more than --most-teraflop.

The problems go into two configs: what a model is fitted on, and what it is judged by. Which problem goes where
is drawn with them, before anything is measured: --part fit or --part judge writes one of them. Whole pairs of
head dimensions are in one part, so that a judged problem has dimensions that the fit has not seen.
"""
import argparse
import json
import math
import random
import sys

LINEAR = ["gla", "rwkv6", "simple_gla", "retention", "linear_attention"]
ATTENTION = ["attention", "decay_attention"]
LINEAR_VARIANTS = ["chunk_sm90", "chunk_fused", "chunk_materialized", "recurrent"]
DIMS = [32, 48, 64, 80, 96, 112, 128, 160, 192, 256]
ATTENTION_VARIANTS = {"forward": ["flash1", "flash2", "flash_decoding"],
                      "backward": ["flash2", "flash2_deterministic"]}
# What scripts/dead_axes.py finds nowhere ahead in the records so far, and terms of float32.
TILES = {"chunk_materialized": {"terms": [1], "residency": [1], "scan_warps": [4], "warp_v": [16]},
         "chunk_fused": {"terms": [1], "residency": [1], "warp_v": [16]}}
POLICY = {"timing": {"min_samples": 10, "max_samples": 20, "max_seconds": 0.1, "hot": False},
          "counters": {"of": "none"}, "energy": {"of": "none"}}
LONGEST_QUADRATIC = 16384  # tokens of attention


def log_uniform(draws, least, most):
    return math.exp(draws.uniform(math.log(least), math.log(most)))


def rounded(value, step):
    """About the value, mostly a multiple of the step, as lengths are in practice."""
    return max(1, round(value / step) * step) if value >= 4 * step else max(1, round(value))


def shape_of(draws, operator, key_dim, value_dim, limits):
    while True:
        blocks = log_uniform(draws, 1, 4096)
        most_seq = LONGEST_QUADRATIC if operator in ATTENTION else 131072
        seq = rounded(log_uniform(draws, 64, most_seq), draws.choice([1, 10, 64, 128]))
        heads = draws.choice([h for h in (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 64) if h <= blocks])
        batch = max(1, round(blocks / heads))
        gigabytes = 2e-9 * batch * heads * seq * (3 * key_dim + 2 * value_dim)
        pairs = seq * seq / 2 if operator in ATTENTION else 4 * seq * key_dim
        teraflop = 2e-12 * batch * heads * pairs * (key_dim + value_dim) / 2
        if gigabytes <= limits.most_gigabytes and teraflop <= limits.most_teraflop:
            return {"batch": batch, "seq": seq, "heads": heads, "key_dim": key_dim, "value_dim": value_dim}


def dims_of(draws, operator, drawn):
    """A pair of head dimensions that no other sweep has."""
    while True:
        key_dim = draws.choice([dim for dim in DIMS if operator in LINEAR or dim <= 128])
        same = operator in ATTENTION or draws.random() < 0.5
        dims = key_dim, key_dim if same else draws.choice(DIMS)
        if dims not in drawn:
            return dims


def sweep_of(draws, operator, shapes):
    sweep = {"operator": operator, "refusals_allowed": True, "dtypes": ["bfloat16"], "max_tiles": 0}
    if operator in LINEAR:
        sweep.update(variants=LINEAR_VARIANTS, tiles=TILES)
    else:
        direction = "backward" if draws.random() < 0.4 else "forward"
        variants = [one for one in ATTENTION_VARIANTS[direction]
                    if operator == "attention" or one != "flash1"]
        sweep.update(direction=direction, variants=variants)
    return {**sweep, "shapes": shapes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pairs", type=int, default=10, help="of head dimensions, each with an operator")
    parser.add_argument("--problems", type=int, default=5, help="of each pair")
    parser.add_argument("--judged", type=float, default=1 / 3, help="share of the pairs that judge")
    parser.add_argument("--part", choices=["fit", "judge"], required=True)
    parser.add_argument("--operators", nargs="+", default=LINEAR + ATTENTION)
    parser.add_argument("--most-gigabytes", type=float, default=2)
    parser.add_argument("--most-teraflop", type=float, default=2)
    options = parser.parse_args()
    draws = random.Random(options.seed)
    sweeps = {"fit": [], "judge": []}
    drawn = set()
    for number in range(options.pairs):
        operator = options.operators[number % len(options.operators)]
        dims = dims_of(draws, operator, drawn)
        drawn.add(dims)
        shapes = [shape_of(draws, operator, *dims, options) for _ in range(options.problems)]
        part = "judge" if draws.random() < options.judged else "fit"
        sweeps[part].append(sweep_of(draws, operator, shapes))
    what = {"fit": "that a cost model is fitted on", "judge": "that choices are judged by"}[options.part]
    json.dump({"description": f"Problems {what}, drawn by scripts/draw_tuning.py --seed {options.seed} "
                              f"--pairs {options.pairs} --problems {options.problems} --part {options.part}.",
               "backend": "cuda", "policy": POLICY, "sweeps": sweeps[options.part]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
