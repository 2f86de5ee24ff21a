#!/usr/bin/env python3
"""Runs flash-linear-attention on the problems of a config and writes records with `peer: true`.

    scripts/peers/run_fla.py configs/h200/headline.json -o results/h200/peers.json --warm 12

Each peer is verified against a float64 recurrence from the same rounded inputs and timed as the
project's own candidates are: events round one call, L2 made cold before each sample by reading a
clean buffer, the median of all samples. Two figures each: replayed from a CUDA graph (no launch
gaps) and as called from Python (`.eager`). What is not installed, or not in the installed version,
is skipped by name.
"""

import argparse
import importlib
import inspect
import json
import os
import subprocess
import sys
import time

import peer_problems as peers


def functions(operator, names):
    """(name, function) of those names that the installed version has; the others are told."""
    try:
        module = importlib.import_module(peers.module_of(operator))
    except ImportError as error:
        print(f"skipped: {peers.module_of(operator)} ({error})", file=sys.stderr)
        return []
    found = []
    for name in names:
        function = getattr(module, name, None)
        # What is left of a function that was removed takes anything and says so.
        if function is None or not {"q", "r"} & set(inspect.signature(function).parameters):
            print(f"skipped: fla.{name} is not in the installed version", file=sys.stderr)
        else:
            found.append((name, function))
    return found


def scale_of(problem):
    if problem["scale"] is not None:
        return problem["scale"]
    return 1.0 if problem["operator"] == "rwkv6" else problem["shape"]["key_dim"] ** -0.5


def arguments_of(problem, name, inputs):
    """Keyword arguments of one of its functions, all of which return (o, final state)."""
    arguments = {"k": inputs["k"], "v": inputs["v"], "scale": scale_of(problem),
                 "initial_state": inputs.get("initial_state"), "output_final_state": True}
    operator = problem["operator"]
    arguments["r" if operator == "rwkv6" else "q"] = inputs["q"]
    if operator == "rwkv6":
        arguments.update(w=inputs["g"], u=inputs["u"])
    elif operator == "gla":
        arguments["gk" if name.startswith("fused_recurrent") else "g"] = inputs["g"]
    elif operator == "simple_gla":
        arguments["g"] = inputs["g"]
    elif operator == "linear_attention":
        arguments["normalize"] = False
    return arguments


def outputs(returned):
    return {"o": returned[0], "final_state": returned[1]}


def calls_of(problem):
    for name, function in functions(problem["operator"], peers.peers_of(problem)):
        def bind(inputs, function=function, name=name):
            arguments = arguments_of(problem, name, inputs)
            return lambda: function(**arguments)
        yield f"fla.{name}", bind, outputs


def tune_for(milliseconds):
    """Lets Triton's tuner time each configuration for so long in place of its own 100 ms, half a
    dozen runs at least."""
    from triton.runtime.autotuner import Autotuner
    from triton.testing import do_bench

    def bench(call, quantiles=None, **_):
        return do_bench(call, warmup=milliseconds / 4, rep=milliseconds, quantiles=quantiles)

    Autotuner.do_bench = staticmethod(bench)


def compile_only(problem):
    """Compiles what the peers of a problem try when they tune themselves, and times none of it."""
    import torch
    from triton.runtime.autotuner import Autotuner

    import peer_device

    def run_once(call, **_):
        call()
        return [1.0, 1.0, 1.0]

    Autotuner.do_bench = staticmethod(run_once)
    inputs = peer_device.draw(problem)
    with torch.no_grad():
        for _, bind, _ in calls_of(problem):
            bind(inputs)()
    torch.cuda.synchronize()


def warm(options, problem_list, most_processes):
    """Compiles ahead in processes of their own, into Triton's cache on disk."""
    begin = time.monotonic()
    # The choices made without timing must not be kept, only the binaries.
    own = {**os.environ, "FLA_CACHE_RESULTS": "0", "TRITON_CACHE_AUTOTUNING": "0"}
    waiting, running = peers.compile_jobs(problem_list), []
    while waiting or running:
        while waiting and len(running) < most_processes:
            index = waiting.pop(0)
            command = [sys.executable, __file__, options.config, "--compile", str(index)]
            running.append(subprocess.Popen(command, env=own))
        time.sleep(0.2)
        late = options.warm_seconds and time.monotonic() - begin > options.warm_seconds
        for child in running if late else []:
            child.kill()
        waiting = [] if late else waiting
        running = [child for child in running if child.poll() is None]
    print(f"compiled ahead in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("-o", "--output", help="results file, written after each problem")
    parser.add_argument("--first", type=int, help="only the first so many problems")
    parser.add_argument("--operators", help="only these, separated by commas")
    parser.add_argument("--most-seconds", type=float, default=0,
                        help="for one peer on one problem, its own tuning included (0: no limit)")
    parser.add_argument("--warm", type=int, default=0, metavar="N",
                        help="first compile all that the peers will try, in N processes")
    parser.add_argument("--warm-only", action="store_true", help="and do nothing else")
    parser.add_argument("--tune-ms", type=float, default=0,
                        help="of timing for each configuration that a peer tries when it tunes itself "
                             "(0: its tuner's own 100 ms)")
    parser.add_argument("--warm-seconds", type=float, default=0, help="for that (0: no limit)")
    parser.add_argument("--list", action="store_true", help="the problems and peers; runs nothing")
    parser.add_argument("--compile", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.output or options.list or options.warm_only or options.compile is not None):
        parser.error("-o is needed")
    return options


def selected(config, options):
    chosen = []
    for problem in peers.problems(config):
        if options.operators and problem["operator"] not in options.operators.split(","):
            continue
        reason = peers.refuse_recurrence(problem)
        if reason is None:
            chosen.append(problem)
        elif options.compile is None:
            print(f"skipped: {peers.describe(problem)}: {reason}", file=sys.stderr)
    return chosen[:options.first]


def main():
    options = parse()
    with open(options.config, encoding="utf-8") as file:
        config = json.load(file)
    problem_list = selected(config, options)
    if options.list:
        for problem in problem_list:
            print(peers.describe(problem), *(f"fla.{name}" for name in peers.peers_of(problem)))
        return 0
    try:
        import fla
        import torch
    except ImportError as error:
        print(f"skipped: flash-linear-attention is not installed ({error})", file=sys.stderr)
        return 0
    if not torch.cuda.is_available():
        print("skipped: no GPU that PyTorch can use", file=sys.stderr)
        return 0
    if options.compile is not None:
        compile_only(problem_list[options.compile])
        return 0
    if options.warm > 0:
        warm(options, problem_list, options.warm)
    if options.warm_only:
        return 0
    if options.tune_ms > 0:
        tune_for(options.tune_ms)

    import peer_device

    def expected(problem, inputs):
        return peer_device.recurrence(problem, inputs, scale_of(problem))

    facts = peer_device.environment(f"flash-linear-attention {fla.__version__}")
    peer_device.run(problem_list, calls_of, expected, options.output, config, facts,
                    options.most_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
