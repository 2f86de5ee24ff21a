"""Checks of gla_bench.ops on a GPU, with a table of what became of them; and drawn tensors."""

import traceback

import torch

DEVICE = torch.device("cuda")
# Of outputs against float64 from the same inputs: rounding of outputs and of operands.
BOUNDS = {torch.float32: 5e-5, torch.float16: 5e-3, torch.bfloat16: 2e-2}

rows = []


def note(what, ok, figure=""):
    rows.append((what, "ok" if ok else "FAILED", figure))
    print(f"{'ok' if ok else 'FAILED':>6}  {what}  {figure}", flush=True)


def check(what, function, *arguments):
    """Runs one check, which returns a figure to show; an exception is a failure."""
    try:
        note(what, True, function(*arguments) or "")
    except Exception as error:  # pylint: disable=broad-except
        traceback.print_exc()
        note(what, False, f"{type(error).__name__}: {str(error).splitlines()[0][:90]}")


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape, device=DEVICE).to(dtype)


def decays(*shape, dtype=torch.float32):
    return (torch.nn.functional.logsigmoid(normal(*shape)) / 4).to(dtype)


def rel_l2(found, expected):
    return ((found.double() - expected).norm() / expected.norm()).item()


def print_table():
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    failed = [row for row in rows if row[1] != "ok"]
    print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}: {len(rows)} checks, {len(failed)} failed")
    for row in rows:
        print(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}")
    return 1 if failed else 0
