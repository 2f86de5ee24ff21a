#!/usr/bin/env python3
"""Runs PyTorch's scaled_dot_product_attention on the `attention` problems of a config and writes
records with `peer: true`.

    scripts/peers/run_sdpa.py configs/h200/attention.json -o results/h200/peers-sdpa.json

Forward, by each of its fused backends, verified against float64 and timed as run_fla.py does.
"""

import argparse
import json
import sys

import peer_problems as peers

BACKENDS = {"sdpa.cudnn": "CUDNN_ATTENTION", "sdpa.flash2": "FLASH_ATTENTION"}


def scale_of(problem):
    return problem["scale"] or problem["shape"]["key_dim"] ** -0.5


def calls_of(problem):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    seq_first = problem["layout"] == "seq_first"
    shape = problem["shape"]
    causal = problem["options"].get("causal", "true") == "true" and shape["seq"] > 1
    grouped = shape.get("key_heads", shape["heads"]) != shape["heads"]

    def outputs(returned):
        return {"o": returned.transpose(1, 2) if seq_first else returned}

    for name, backend in BACKENDS.items():
        if not hasattr(SDPBackend, backend):
            print(f"skipped: {name} is not in the installed PyTorch", file=sys.stderr)
            continue

        def bind(inputs, chosen=getattr(SDPBackend, backend)):
            q, k, v = (inputs[name].transpose(1, 2) if seq_first else inputs[name] for name in "qkv")

            def call():
                with sdpa_kernel([chosen]):
                    return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped,
                                                        scale=scale_of(problem))
            return call
        yield name, bind, outputs


def head_first(problem, inputs):
    """Inputs are drawn [B,T,H,D]."""
    if problem["layout"] == "head_first":
        for name in "qkv":
            inputs[name] = inputs[name].transpose(1, 2).contiguous()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("-o", "--output", required=True, help="written after each problem")
    parser.add_argument("--first", type=int, help="only the first so many problems")
    parser.add_argument("--most-seconds", type=float, default=0,
                        help="for one peer on one problem (0: no limit)")
    options = parser.parse_args()
    with open(options.config, encoding="utf-8") as file:
        config = json.load(file)
    problem_list = []
    for problem in peers.problems(config):
        reason = peers.refuse_attention(problem)
        if reason is None:
            problem_list.append(problem)
        else:
            print(f"skipped: {peers.describe(problem)}: {reason}", file=sys.stderr)
    try:
        import torch
    except ImportError as error:
        print(f"skipped: PyTorch is not installed ({error})", file=sys.stderr)
        return 0
    if not torch.cuda.is_available():
        print("skipped: no GPU that PyTorch can use", file=sys.stderr)
        return 0

    import peer_device

    def expected(problem, inputs):
        head_first(problem, inputs)
        return peer_device.attention(problem, inputs, scale_of(problem))

    facts = peer_device.environment("SDPA")
    peer_device.run(problem_list[:options.first], calls_of, expected, options.output, config, facts,
                    options.most_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
