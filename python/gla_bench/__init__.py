"""Runs, verifies, measures and tunes kernels of linear and softmax attention.

The package drives the program gla-bench, which does all the work in worker processes, and reads
its records::

    import gla_bench

    results = gla_bench.run({
        "backend": "host",
        "sweeps": [{"operator": "gla", "dtypes": ["float32"], "variants": "all",
                    "shapes": [[2, 256, 4, 64, 64]]}],
    })
    assert results.ok
    for record in results.best():
        print(record.variant, record.ms)

docs/python.md shows more.
"""

from gla_bench._candidate import candidate
from gla_bench._checks import check, measure
from gla_bench._commands import gate, run, verify
from gla_bench._errors import GlaBenchError, InputError, MachineError
from gla_bench._program import program, version
from gla_bench._records import Record, Results, load

__all__ = [
    "GlaBenchError", "InputError", "MachineError", "Record", "Results", "candidate", "check", "gate",
    "load", "measure", "program", "run", "verify", "version",
]
