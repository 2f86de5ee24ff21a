"""Each variant of each operator: where it is verified, and how fast it is."""

from tables import numbers
from tables.records import (DIRECTIONS, DTYPES, OPERATORS, extents, fastest, milliseconds, ms_text,
                            problem_of, share, timed, verified)


def headline(records):
    """The first bfloat16 problem that at least half of the variants were measured on."""
    problems = {}
    for record in records:
        if record["dtype"] == "bfloat16" and timed(record):
            problems.setdefault(problem_of(record), []).append(record)

    variants = {problem: len({r["variant"] for r in rows}) for problem, rows in problems.items()}
    most = len({r["variant"] for r in records})
    return next((problem for problem in problems if 2 * variants[problem] >= most),
                max(problems, key=variants.get, default=None))


# The dtypes of tensors; tf32 where the products round float32 inputs to it.
FORMATS = ["float32", "tf32", *DTYPES[1:]]


def name_of_format(record):
    return "tf32" if record["verification"].get("arithmetic") == "tf32" else record["dtype"]


def row(operator, direction, variant, records, problem):
    formats = {name_of_format(r) for r in records if verified(r)}
    names = ", ".join(name for name in FORMATS if name in formats)
    fast = [r for r in records if timed(r) and problem_of(r) == problem]
    if not fast:  # it solves other problems than the rest: its own largest
        own = headline(records)
        fast = [r for r in records if timed(r) and problem_of(r) == own]
    if not fast:
        return [operator, direction, variant, names or "-", "-", "-", "-", "-"]
    best = min(fastest(fast), key=milliseconds)
    return [operator, direction, f"`{variant}`", names, extents(best), ms_text(best), share(best),
            numbers.rate(best["row"]["tflop_per_s"])]


def mission(records):
    """One row per operator, direction and variant on CUDA."""
    own = [r for r in records if not r["peer"] and r["backend"] == "cuda"]
    lines = ["| operator | direction | variant | verified in | extents | best ms | of the floor | TFLOP/s |",
             "|---|---|---|---|---|---:|---:|---:|"]
    for operator in OPERATORS:
        for direction in DIRECTIONS:
            mine = [r for r in own if r["operator"] == operator and r["direction"] == direction]
            problem = headline(mine)
            for variant in dict.fromkeys(r["variant"] for r in mine):
                cells = row(operator, direction, variant,
                            [r for r in mine if r["variant"] == variant], problem)
                lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
