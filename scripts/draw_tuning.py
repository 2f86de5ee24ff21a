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
ATTENTION = ["attention", "decay_attention", "attention"]
SOFTMAX_VARIANTS = {"forward": ["three_pass", "online", "online_blocked", "cluster"],
                    "backward": ["two_pass", "blocked", "cluster"]}
LINEAR_VARIANTS = ["chunk_sm90", "chunk_fused", "chunk_materialized", "recurrent"]
LINEAR_DIRECTIONS = ["forward"] * 4 + ["backward", "training", "training"]
DIRECTIONS = {**dict.fromkeys(LINEAR, {"forward", "backward", "training"}), "gla_layer": {"forward"},
              **dict.fromkeys([*ATTENTION, "softmax"], {"forward", "backward"})}
LINEAR_GATES = {"gla": ["mild", "typical", "strong"], "simple_gla": ["mild", "typical"]}
GATES = {**LINEAR_GATES, "decay_attention": ["none", "mild", "typical"]}
DIMS = [32, 48, 64, 80, 96, 112, 128, 160, 192, 256]
DTYPES = ["bfloat16"] * 8 + ["float16", "float32"]
ATTENTION_VARIANTS = {"forward": ["flash1", "flash2", "flash_decoding", "flash_sm90", "flash_decoding_sm90"],
                      "backward": ["flash2", "flash2_deterministic", "flash_sm90"]}
# What scripts/dead_axes.py finds nowhere ahead in the records so far, and terms of float32.
TILES = {"chunk_materialized": {"terms": [1], "residency": [1], "scan_warps": [4], "warp_v": [16]},
         "chunk_fused": {"terms": [1], "residency": [1], "warp_v": [16]}}
# A pair has the axes of both halves. Those of the forward that matter least to the sum stay at one value.
TRAINING_TILES = {"chunk_materialized": {**TILES["chunk_materialized"], "step": [32], "stages": [1]},
                  "chunk_fused": {**TILES["chunk_fused"], "step": [32], "stages": [1]}}
# The best two tiles of each variant of gla inside the layer.
LAYER_TILES = {"composed": {"inner_tile": [0, 1]}, "fused": {"inner_tile": [0, 1], "tokens": [64]}}
# Another overlap is ahead on few problems, by 3 % at most, and would double what is measured.
ATTENTION_TILES = {"flash_sm90": {"overlap": [1]}}
POLICY = {"timing": {"min_samples": 10, "max_samples": 20, "max_seconds": 0.1, "hot": False},
          "counters": {"of": "none"}, "energy": {"of": "none"}}
LONGEST_QUADRATIC = 16384  # tokens of attention


def log_uniform(draws, least, most):
    return math.exp(draws.uniform(math.log(least), math.log(most)))


def rounded(value, step):
    """About the value, mostly a multiple of the step, as lengths are in practice."""
    return max(1, round(value / step) * step) if value >= 4 * step else max(1, round(value))


def rows_of(draws, limits):
    """A shape of softmax."""
    while True:
        columns = rounded(log_uniform(draws, 64, 131072), draws.choice([1, 8, 64, 1024]))
        batch = round(log_uniform(draws, 1, 65536))
        if 4e-9 * batch * columns <= limits.most_gigabytes:
            return {"batch": batch, "columns": columns}


def decoding_of(draws, key_dim, value_dim, limits):
    """A few queries over many keys, whose heads may be shared by a group of query heads."""
    while True:
        heads = draws.choice([8, 16, 24, 32, 40, 64])
        batch = round(log_uniform(draws, 1, 64))
        key_seq = rounded(log_uniform(draws, 256, 131072), draws.choice([1, 64, 128]))
        key_heads = heads // draws.choice([1, 4, 8])
        if 2e-9 * batch * key_heads * key_seq * (key_dim + value_dim) <= limits.most_gigabytes:
            return {"batch": batch, "seq": draws.choice([1, 1, 1, 4, 16]), "heads": heads, "key_dim": key_dim,
                    "value_dim": value_dim, "key_seq": key_seq, "key_heads": key_heads}


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


def layer_of(draws, key_dim, value_dim, limits):
    """A layer as wide as its heads make it: model_dim is that of all values, as in published models."""
    while True:
        shape = shape_of(draws, "gla_layer", key_dim, value_dim, limits)
        shape["model_dim"] = shape["heads"] * value_dim
        tokens = shape["batch"] * shape["seq"]
        products = 2e-12 * tokens * shape["model_dim"] * shape["heads"] * (2 * key_dim + 3 * value_dim)
        if tokens >= 64 and products <= limits.most_teraflop:
            return shape


def linear_sweep(draws, operator):
    """What a sweep of a linear recurrence has besides its shapes."""
    direction = draws.choice(LINEAR_DIRECTIONS)
    sweep = {"direction": direction, "variants": LINEAR_VARIANTS, "tiles": TILES}
    if operator in LINEAR_GATES:
        sweep["gates"] = [draws.choice(LINEAR_GATES[operator])]
    if direction == "backward":
        del sweep["tiles"]
    if direction == "training":
        sweep.update(variants=LINEAR_VARIANTS[:-1], tiles=TRAINING_TILES)
        if operator == "retention":
            sweep["variants"] = sweep["variants"][1:]  # chunk_sm90 has no backward of it
    return sweep


def dims_of(draws, operator, drawn):
    """A pair of head dimensions that no other sweep has."""
    left = [(key, value) for key in DIMS for value in DIMS if (key, value) not in drawn]
    if not left:
        sys.exit("draw_tuning.py: --pairs: there are no more pairs of head dimensions for " + operator)
    same = [(key, value) for key, value in left if key == value]
    return draws.choice(same if same and draws.random() < 0.6 else left)


def sweep_of(draws, operator, drawn, limits):
    """The problems of one pair of head dimensions, or of softmax."""
    sweep = {"operator": operator, "refusals_allowed": True, "dtypes": [draws.choice(DTYPES)], "max_tiles": 0}
    count = range(limits.problems)
    if operator == "softmax":
        if limits.directions:  # Without them the draws are those of earlier seeds, which had the forward alone.
            sweep["direction"] = draws.choice(["forward", "backward"])
        return {**sweep, "variants": SOFTMAX_VARIANTS[sweep.get("direction", "forward")],
                "shapes": [rows_of(draws, limits) for _ in count]}
    dims = dims_of(draws, operator, drawn)
    drawn.add(dims)
    if operator == "gla_layer":
        return {**sweep, "variants": ["composed", "fused"], "tiles": LAYER_TILES,
                "shapes": [layer_of(draws, *dims, limits) for _ in count]}
    if operator in LINEAR:
        return {**sweep, **linear_sweep(draws, operator),
                "shapes": [shape_of(draws, operator, *dims, limits) for _ in count]}
    kind = draws.choice(["backward", "forward", "forward", "decoding"] if operator == "attention" else
                        ["backward", "forward"])
    sweep["direction"] = "backward" if kind == "backward" else "forward"
    sweep["variants"] = [one for one in ATTENTION_VARIANTS[sweep["direction"]]
                         if operator == "attention" or one != "flash1"]
    if sweep["direction"] == "forward":
        sweep["tiles"] = ATTENTION_TILES
    if kind == "decoding":
        return {**sweep, "options": {"causal": ["false"]},
                "shapes": [decoding_of(draws, *dims, limits) for _ in count]}
    if operator == "decay_attention":
        sweep["gates"] = [draws.choice(GATES["decay_attention"])]
    else:
        sweep["options"] = {"causal": [draws.choice(["true", "true", "false"])]}
    return {**sweep, "shapes": [shape_of(draws, operator, *dims, limits) for _ in count]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pairs", type=int, default=10, help="of head dimensions, each with an operator")
    parser.add_argument("--problems", type=int, default=5, help="of each pair")
    parser.add_argument("--judged", type=float, default=1 / 3, help="share of the pairs that judge")
    parser.add_argument("--part", choices=["fit", "judge"], required=True)
    parser.add_argument("--operators", nargs="+", default=[*LINEAR, *ATTENTION, "softmax", "gla_layer"])
    parser.add_argument("--directions", nargs="+", default=[], choices=["forward", "backward", "training"],
                        help="draw again what has another one (default: all of them)")
    parser.add_argument("--gates", nargs="+", default=[], choices=["none", "mild", "typical", "strong"],
                        help="draw again what has another regime (default: all; for operators that have several)")
    parser.add_argument("--most-gigabytes", type=float, default=1)
    parser.add_argument("--most-teraflop", type=float, default=0.7)
    options = parser.parse_args()
    wanted = set(options.directions)
    for operator in options.operators:
        if wanted and not wanted & DIRECTIONS[operator]:
            parser.error(f"--directions: {operator} has none of {', '.join(options.directions)}")
        if options.gates and not set(options.gates) & set(GATES.get(operator, [])):
            parser.error(f"--gates: {operator} is drawn with none of {', '.join(options.gates)}")
    draws = random.Random(options.seed)
    sweeps = {"fit": [], "judge": []}
    drawn = set()
    for number in range(options.pairs):
        operator = options.operators[number % len(options.operators)]
        sweep = sweep_of(draws, operator, drawn, options)
        while (wanted and sweep.get("direction", "forward") not in wanted or
               options.gates and sweep["gates"][0] not in options.gates):
            sweep = sweep_of(draws, operator, drawn, options)
        part = "judge" if draws.random() < options.judged else "fit"
        sweeps[part].append(sweep)
    what = {"fit": "that a cost model is fitted on", "judge": "that choices are judged by"}[options.part]
    chosen = " --directions " + " ".join(options.directions) if wanted else ""
    chosen += " --gates " + " ".join(options.gates) if options.gates else ""
    json.dump({"description": f"Problems {what}, drawn by scripts/draw_tuning.py --seed {options.seed} "
                              f"--pairs {options.pairs} --problems {options.problems} --part {options.part}{chosen}.",
               "backend": "cuda", "policy": POLICY, "sweeps": sweeps[options.part]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
