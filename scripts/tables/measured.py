"""Bytes and energy as the GPU counted them, beside what the variants say."""

from tables import numbers
from tables.records import (DIRECTIONS, OPERATORS, ROOT, STALE, counted, extents, milliseconds,
                            timed)


def explanations():
    """Why measured and modelled bytes differ, by operator, direction and variant: lines of
    `operator direction variant: why` in results/measured_over_model.txt, `*` standing for any."""
    lines = (ROOT / "results" / "measured_over_model.txt").read_text().splitlines()
    known = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            names, why = line.split(":", 1)
            known.append((names.split(), why.strip()))
    return known


def explanation(record, known):
    names = (record["operator"], record["direction"], record["variant"])
    for pattern, why in known:
        if len(pattern) == 3 and all(want in ("*", have) for want, have in zip(pattern, names)):
            return why
    return ""


def measured_row(record, known):
    io = record["io"]
    model = io["model_read_bytes"] + io["model_write_bytes"]
    moved = io["measured"]["dram_read_bytes"] + io["measured"]["dram_write_bytes"]
    ratio = moved / model
    # What is smaller than twice the last-level cache may stay in it: no claim.
    large = io["floor_bytes"] >= 2 * record["l2_bytes"]
    why = explanation(record, known)
    note = "fits into the L2" if not large else ""
    text = f"{ratio:.3f}"
    sectors = io["measured"]["metrics"].get("lts__t_sectors_srcunit_tex.sum")
    asked = sectors * 32 / model if sectors is not None else float("nan")
    if large and not abs(ratio - 1) <= 0.1:
        text = f"**{text}**"
        note = why or "**not explained**"
    energy = (record.get("energy") or {}).get("joules_per_call")
    name = f"`{record['variant']}`" + (f" {STALE}" if record["row"].get("stale") else "")
    return [record["operator"], record["direction"], name, record["dtype"],
            extents(record), numbers.digits(model / 1e6, 4), numbers.digits(moved / 1e6, 4), text,
            f"{asked:.3f}", f"{moved / io['floor_bytes']:.3f}",
            numbers.short(energy * 1e3 if energy else None), note]


def measured(records):
    """Each variant's fastest tile on its largest counted problem."""
    mine = [r for r in records
            if not r["peer"] and r["backend"] == "cuda" and timed(r) and counted(r)]
    if not mine:
        return "No committed record has counted bytes."
    known = explanations()
    lines = ["| operator | direction | variant | dtype | extents | model MB | measured MB | of model "
             "| asked | of floor | mJ | |",
             "|---|---|---|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for operator in OPERATORS:
        for direction in DIRECTIONS:
            rows = [r for r in mine if (r["operator"], r["direction"]) == (operator, direction)]
            for variant in dict.fromkeys(r["variant"] for r in rows):
                own = [r for r in rows if r["variant"] == variant]
                largest = max(r["io"]["floor_bytes"] for r in own)
                best = min((r for r in own if r["io"]["floor_bytes"] == largest), key=milliseconds)
                lines.append("| " + " | ".join(measured_row(best, known)) + " |")
    return "\n".join(lines)
