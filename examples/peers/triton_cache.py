#!/usr/bin/env python3
"""Kernels of Triton, compiled before they are judged.

    examples/peers/triton_cache.py FOLDER --jobs 16 [--dims 64 128] [--functions chunk_gla ...]

A function's process has a folder of its own for what Triton compiles, empty at first, and a peer that tunes itself
compiles some hundred configurations: minutes, by one process. This compiles them by many, into a folder.
GLA_BENCH_TRITON_CACHE=FOLDER then gives every such process a copy of it. The exit code is 1 where a call failed, whose
words are on stderr; what the others compiled is kept.
"""

import argparse
import functools
import os
import shutil
import subprocess
import sys

VARIABLE = "GLA_BENCH_TRITON_CACHE"
TUNER_MS = 10  # for each configuration, in place of the 100 of Triton's tuner


@functools.cache
def prepare():
    """Once in a process, before anything of Triton is compiled."""
    source, own = os.environ.get(VARIABLE), os.environ.get("TRITON_CACHE_DIR")
    if source and own and os.path.realpath(source) != os.path.realpath(own):
        shutil.copytree(source, own, dirs_exist_ok=True)
    tune_for(TUNER_MS)


def tune_for(milliseconds):
    """How long Triton's tuner times each configuration; half a dozen calls at least."""
    from triton.runtime.autotuner import Autotuner
    from triton.testing import do_bench

    def bench(call, quantiles=None, **_):
        return do_bench(call, warmup=milliseconds / 4, rep=milliseconds, quantiles=quantiles)

    Autotuner.do_bench = staticmethod(bench)


def compile_part(part, parts):
    """Makes Triton's tuner compile every parts-th configuration, and time none."""
    from triton.runtime.autotuner import Autotuner
    pruned = Autotuner.prune_configs

    def some(self, kwargs):
        configs = list(pruned(self, kwargs))
        return configs[part::parts] or configs[:1]

    def once(call, **_):
        call()
        return [1.0, 1.0, 1.0]

    Autotuner.prune_configs, Autotuner.do_bench = some, staticmethod(once)


def tensors(torch, dim, heads, dtype):
    """One small problem of everything that the functions take."""
    def normal(*shape):
        return torch.randn(shape, device="cuda").to(dtype)

    batch, seq = 1, 256
    long, state = (batch, seq, heads, dim), torch.zeros(batch, heads, dim, dim, device="cuda")
    decays = -torch.rand(long, device="cuda").to(dtype) / 8
    return {"q": normal(*long), "k": normal(*long), "v": normal(*long), "do": normal(*long), "g": decays, "w": decays,
            "u": normal(heads, dim), "scale": dim ** -0.5, "dfinal_state": state,
            "of_heads": decays[..., 0].contiguous()}


def compile_functions(names, dims, heads, dtypes):
    """Calls each function once, and says which calls failed. Returns how many did."""
    import torch
    import flash_linear_attention as peers

    failed = 0
    for dtype in dtypes:
        for dim in dims:
            known = tensors(torch, dim, heads, getattr(torch, dtype))
            for name in names:
                function = getattr(peers, name)
                described = getattr(function, "__gla_bench_candidate__")
                own = dict(known)
                if described.operator in ("simple_gla", "decay_attention"):
                    own["g"] = own["log_decay"] = known["of_heads"]
                elif described.operator == "retention":
                    own["log_decay"] = known["of_heads"][0, 0].float()
                arguments = {key: own[key] for key in described.arguments if key in own}
                try:
                    function(**arguments)
                    torch.cuda.synchronize()
                except Exception as error:  # pylint: disable=broad-except
                    print(f"{name} {dtype} {dim}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
                    failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128], help="key and value dimensions")
    parser.add_argument("--heads", type=int, default=16, help="their number, which kernels are compiled for")
    parser.add_argument("--dtypes", nargs="+", default=["bfloat16"])
    parser.add_argument("--functions", nargs="+", default=["chunk_gla"])
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        prepare()
        compile_part(options.part, options.jobs)
        return 1 if compile_functions(options.functions, options.dims, options.heads, options.dtypes) else 0
    os.makedirs(options.folder, exist_ok=True)
    # What is chosen without timing must not be kept, only what is compiled.
    own = {**os.environ, "TRITON_CACHE_DIR": options.folder, "FLA_CACHE_RESULTS": "0", "TRITON_CACHE_AUTOTUNING": "0"}
    own.pop(VARIABLE, None)
    command = [sys.executable, __file__, *sys.argv[1:], "--jobs", str(options.jobs), "--part"]
    jobs = [subprocess.Popen([*command, str(part)], env=own) for part in range(options.jobs)]
    return max(job.wait() for job in jobs)


if __name__ == "__main__":
    sys.exit(main())
