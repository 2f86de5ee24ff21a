#!/usr/bin/env python3
"""Writes the tables of measured figures in README.md and docs/ from committed records.

    readme_tables.py            writes them between their markers
    readme_tables.py --check    says what is out of date, exit code 1

Every figure in such a table comes from results/h200/*.json. Needs nothing but Python 3.
"""

import argparse
import json
import sys
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DTYPES = ["float32", "bfloat16", "float16"]
OPERATORS = ["linear_attention", "retention", "simple_gla", "gla", "rwkv6", "softmax", "attention",
             "decay_attention", "gla_layer"]


def load():
    """Every record of the device's files with the copy rate of its run; peers' have none."""
    records = []
    for path in sorted((ROOT / "results" / "h200").glob("*.json")):
        document = json.loads(path.read_text())
        environment = document["environment"]
        copy = environment.get("copy_gb_per_s", 0)
        l2_bytes = float(environment.get("l2_bytes", 0))
        for record in document["records"]:
            record["copy_gb_per_s"] = copy
            record["l2_bytes"] = l2_bytes
            record["matrix_tflop_per_s"] = environment.get("matrix_tflop_per_s", float("nan"))
            record["file"] = path.name
            record["run"] = {key: environment.get(key, "") for key in ("uuid", "driver", "started", "device")}
            records.append(record)
    return records


def verified(record):
    return bool(record.get("verification")) and record["verification"]["ok"]


def timed(record):
    return verified(record) and record["timing"] is not None and not record["timing"].get("suspect", False)


def milliseconds(record):
    return record["timing"]["cold"]["median_ms"]


def problem_of(record):
    keys = ("shape", "gate", "layout", "initial_state", "final_state", "dtype", "options")
    return json.dumps([record.get(key) for key in keys], sort_keys=True)


def extents(record):
    """"8,4096,16,128,128": the extents in their order, those that are seldom given by name."""
    shape = dict(record["shape"])
    plain = [name for name in ("batch", "seq", "heads", "key_dim", "value_dim", "columns")
             if name in shape]
    text = ",".join(str(shape.pop(name)) for name in plain)
    return " ".join([text] + [f"{name}={value}" for name, value in shape.items()])


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


def share(record):
    floor_ms = record["io"]["floor_bytes"] / (record["copy_gb_per_s"] * 1e6)
    return f"{100 * floor_ms / milliseconds(record):.0f} %"


def row(operator, direction, variant, records, problem):
    names = ", ".join(d for d in DTYPES if any(verified(r) for r in records if r["dtype"] == d))
    fast = [r for r in records if timed(r) and problem_of(r) == problem]
    if not fast:  # it solves other problems than the rest: its own largest
        own = headline(records)
        fast = [r for r in records if timed(r) and problem_of(r) == own]
    if not fast:
        return [operator, direction, variant, names or "-", "-", "-", "-", "-"]
    best = min(fast, key=milliseconds)
    ms = milliseconds(best)
    return [operator, direction, f"`{variant}`", names, extents(best), f"{ms:.3g}", share(best),
            f"{best['flops'] / ms * 1e-9:.0f}"]


def mission(records):
    """One row per operator, direction and variant on CUDA."""
    own = [r for r in records if not r["peer"] and r["backend"] == "cuda"]
    lines = ["| operator | direction | variant | verified in | extents | best ms | of the floor | TFLOP/s |",
             "|---|---|---|---|---|---:|---:|---:|"]
    for operator in OPERATORS:
        for direction in ("forward", "backward"):
            mine = [r for r in own if r["operator"] == operator and r["direction"] == direction]
            problem = headline(mine)
            for variant in dict.fromkeys(r["variant"] for r in mine):
                cells = row(operator, direction, variant,
                            [r for r in mine if r["variant"] == variant], problem)
                lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gla(records):
    """Variants and peers of gla forward by shape: the headline sweeps' bfloat16 problems."""
    mine = [r for r in records if r["operator"] == "gla" and r["dtype"] == "bfloat16" and timed(r)
            and r["gate"] == "mild" and not r.get("initial_state") and not r.get("options")]
    # A peer's file measures no copy rate of its own.
    copy = max(r["copy_gb_per_s"] for r in mine)
    # The columns are those of gla.json; other files may hold the same problems, too.
    shapes = list(dict.fromkeys(extents(r) for r in mine if r["file"] == "gla.json"))
    best = {}
    for record in mine:
        key = record["variant"], extents(record)
        if key not in best or milliseconds(record) < milliseconds(best[key]):
            best[key] = record
    fastest = {shape: min(milliseconds(r) for (_, at), r in best.items() if at == shape)
               for shape in shapes}
    lines = ["| B,T,H,K,V | " + " | ".join(shapes) + " |", "|---" * 1 + "|---:" * len(shapes) + "|"]

    def cell(variant, shape):
        record = best.get((variant, shape))
        if record is None:
            return "-"
        ms = milliseconds(record)
        text = f"{ms:.3g} ({100 * record['io']['floor_bytes'] / (copy * 1e6) / ms:.0f} %)"
        return f"**{text}**" if ms == fastest[shape] else text

    names = list(dict.fromkeys(variant for variant, _ in best))
    names.sort(key=lambda name: (best.get((name, shapes[0]), {}).get("peer", False),
                                 milliseconds(best[name, shapes[0]]) if (name, shapes[0]) in best
                                 else float("inf")))
    for name in names:
        lines.append(f"| `{name}` | " + " | ".join(cell(name, shape) for shape in shapes) + " |")
    floors = {extents(r): r["io"]["floor_bytes"] / (copy * 1e6) for r in mine}
    lines.append("| floor | " + " | ".join(f"{floors[shape]:.3g}" for shape in shapes) + " |")
    return "\n".join(lines)


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


def counted(record):
    measured = record["io"].get("measured") or {}
    return (measured.get("source") == "cupti" and measured.get("dram_read_bytes") is not None
            and measured.get("dram_write_bytes") is not None)


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
    return [record["operator"], record["direction"], f"`{record['variant']}`", record["dtype"],
            extents(record), f"{model / 1e6:.4g}", f"{moved / 1e6:.4g}", text, f"{asked:.3f}",
            f"{moved / io['floor_bytes']:.3f}", f"{energy * 1e3:.3g}" if energy else "-", note]


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
        for direction in ("forward", "backward"):
            rows = [r for r in mine if (r["operator"], r["direction"]) == (operator, direction)]
            for variant in dict.fromkeys(r["variant"] for r in rows):
                own = [r for r in rows if r["variant"] == variant]
                largest = max(r["io"]["floor_bytes"] for r in own)
                best = min((r for r in own if r["io"]["floor_bytes"] == largest), key=milliseconds)
                lines.append("| " + " | ".join(measured_row(best, known)) + " |")
    return "\n".join(lines)


def targets():
    """(operator, gate, extents, target ms, why missed) of results/headline_targets.txt."""
    rows = []
    for line in (ROOT / "results" / "headline_targets.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            figures, _, why = line.partition(":")
            operator, gate, shape, milliseconds_ = figures.split()
            rows.append((operator, gate, shape, float(milliseconds_), why.strip()))
    return rows


ELSEWHERE = "\u2020"  # a dagger


def side_by_side(record, other, keys=("uuid", "driver")):
    """Whether two runs were on the same device and driver within six hours."""
    ours, theirs = record["run"], other["run"]
    if any(not ours[key] or ours[key] != theirs[key] for key in keys):
        return False
    try:
        apart = (datetime.fromisoformat(ours["started"].replace("Z", "+00:00"))
                 - datetime.fromisoformat(theirs["started"].replace("Z", "+00:00")))
    except (ValueError, TypeError):
        return False
    return abs(apart.total_seconds()) <= 6 * 3600


def headline_row(records, target):
    operator, gate, shape, target_ms, why = target
    rows = [r for r in records if (r["operator"], r["gate"], extents(r)) == (operator, gate, shape)
            and r["dtype"] == "bfloat16" and r["direction"] == "forward" and timed(r)]
    own = [r for r in rows if r["file"] == "headline.json" and not r["peer"]]
    cells = [operator if gate in ("mild", "none") else f"{operator}, `{gate}`", shape]
    if not own:
        return cells + ["-"] * 8 + [f"{target_ms:g}", "not measured"]
    best = min(own, key=milliseconds)
    ms = milliseconds(best)
    tile = ", ".join(f"{axis}={value}" for axis, value in best["tile"].items())
    moved = "-"
    if counted(best) and best["io"]["floor_bytes"] >= 2 * best["l2_bytes"]:
        counts = best["io"]["measured"]
        total = counts["dram_read_bytes"] + counts["dram_write_bytes"]
        moved = f"{total / best['io']['floor_bytes']:.3f}"
    cells += [f"`{best['variant']}`", tile, f"{ms:.3g}", share(best), moved]
    peers = [r for r in rows if r["peer"] and not r["variant"].endswith(".eager")]
    beside = [r for r in peers if side_by_side(best, r)]
    # One of the same model will do where there is no other, and is marked.
    like = beside or [r for r in peers if side_by_side(best, r, ("device", "driver"))]
    peer = min(like, key=milliseconds, default=None)
    if peer is None:
        cells += ["-", "-", "-"]
    else:
        mark = "" if beside else f" {ELSEWHERE}"
        cells += [f"`{peer['variant']}`", f"{milliseconds(peer):.3g}{mark}",
                  f"{milliseconds(peer) / ms:.2f}"]
    verdict = "met" if ms <= target_ms else "**missed**" + (f": {why}" if why else "")
    spills = (best.get("build") or {}).get("spill_bytes", 0)
    return cells + [f"{target_ms:g}", verdict + (f" (spills {spills} bytes)" if spills else "")]


HEADLINE_COLUMNS = ["operator", "B,T,H,K,V", "best variant", "tile", "ms", "of the floor",
                    "bytes over floor", "best peer", "its ms", "ratio", "target ms", ""]
# What the README shows of it: the columns with their names there, and the problems.
SHORT_COLUMNS = {"operator": "operator", "B,T,H,K,V": "shape (B,T,H,K,V)", "ms": "ours, ms",
                 "its ms": "best peer, ms", "ratio": "ratio", "of the floor": "share of the floor"}
SHORT_PROBLEMS = [("gla", "mild", "8,4096,16,128,128"), ("gla", "mild", "32,2048,4,256,256"),
                  ("gla", "mild", "1,32768,16,128,128"), ("rwkv6", "mild", "4,8192,32,64,64"),
                  ("gla", "mild", "128,1,16,128,128")]
TEXT_COLUMNS = {"operator", "B,T,H,K,V", "best variant", "tile", "best peer", ""}


def headline_lines(records, columns, wanted):
    """A markdown table of some columns of the headline, for the targets that are wanted."""
    if not any(r["file"] == "headline.json" and timed(r) for r in records):
        return ("Not measured yet: `gla-bench run configs/h200/headline.json -o "
                "results/h200/headline.json` and `scripts/peers/run_fla.py` make the records.")
    rows = [dict(zip(HEADLINE_COLUMNS, headline_row(records, target))) for target in wanted]
    rules = "|".join("---" if name in TEXT_COLUMNS else "---:" for name in columns)
    lines = ["| " + " | ".join(columns.values()) + " |", f"|{rules}|"]
    lines += ["| " + " | ".join(row[name] for name in columns) + " |" for row in rows]
    if any(ELSEWHERE in line for line in lines):
        lines += ["", f"{ELSEWHERE} On another device of the same model, with the same driver, within six hours."]
    return "\n".join(lines)


def headline_table(records):
    """Our best beside the best peer measured beside it, and the targets."""
    return headline_lines(records, {name: name for name in HEADLINE_COLUMNS}, targets())


def headline_short(records):
    """The README's five rows of the same table."""
    by_problem = {target[:3]: target for target in targets()}
    return headline_lines(records, SHORT_COLUMNS, [by_problem[key] for key in SHORT_PROBLEMS])


def with_table(text, name, table):
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = text.split(begin)
    return head + begin + "\n" + table + "\n" + end + rest.split(end)[1]


def fastest_of_each(records):
    best = {}
    for record in records:
        known = best.get(record["variant"])
        if known is None or milliseconds(record) < milliseconds(known):
            best[record["variant"]] = record
    return sorted(best.values(), key=milliseconds)


def times(ratio):
    return f"{ratio:.2f} times"


def first_look(records):
    """The answer of docs/first_look.md: one problem of gla forward, as the page's summary gives it."""
    mine = [r for r in records if r["operator"] == "gla" and r["direction"] == "forward" and timed(r)
            and r["dtype"] == "bfloat16" and r["gate"] == "mild" and not r.get("options")
            and extents(r) == "1,32768,16,128,128"]
    ours = fastest_of_each([r for r in mine if not r["peer"]])
    peers = fastest_of_each([r for r in mine if r["peer"]])
    if len(ours) < 2 or not peers:
        return "Not measured yet."
    best, ms = ours[0], milliseconds(ours[0])
    tile = ", ".join(f"{axis}={value}" for axis, value in best["tile"].items())
    floor_ms = best["io"]["floor_bytes"] / (best["copy_gb_per_s"] * 1e6)
    lines = [f"- **Which:** `{best['variant']}`, tile `{tile}`, {1000 * ms:.0f} µs. The next, "
             f"`{ours[1]['variant']}`, takes {times(milliseconds(ours[1]) / ms)} as long."]
    if counted(best):
        moved = best["io"]["measured"]
        moved = moved["dram_read_bytes"] + moved["dram_write_bytes"]
        of_copy = moved / (best["copy_gb_per_s"] * 1e6) / ms
        of_peak = best["flops"] / (best["matrix_tflop_per_s"] * 1e9) / ms
        holder = "latency" if max(of_copy, of_peak) < 0.6 else (
            "memory" if of_copy >= of_peak else "the tensor cores")
        lines.append(f"- **Why:** held by {holder}: {100 * of_copy:.0f} % of what a copy reaches, of counted "
                     f"bytes, and {100 * of_peak:.0f} % of the tensor cores' peak, at "
                     f"{times(moved / best['io']['floor_bytes'])} the floor's bytes.")
    lines.append(f"- **How far from the floor:** {share(best)} of it, which is {1000 * floor_ms:.0f} µs: "
                 f"{times(ms / floor_ms)} the floor.")
    lines.append(f"- **From the best peer:** `{peers[0]['variant']}` takes {milliseconds(peers[0]):.3g} ms, "
                 f"{times(milliseconds(peers[0]) / ms)} as long.")
    return "\n".join(lines)


# The file that shows each table, between its markers.
TABLES = {
    "README.md": [("headline_short", headline_short)],
    "docs/headline.md": [("headline", headline_table)],
    "docs/first_look.md": [("first_look", first_look)],
    "docs/measured.md": [("mission", mission), ("gla", gla), ("measured", measured)],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when stale")
    options = parser.parse_args()
    records = load()
    stale = []
    for path, tables in TABLES.items():
        text = (ROOT / path).read_text()
        new = text
        for name, table in tables:
            new = with_table(new, name, table(records))
        if new == text:
            continue
        stale.append(path)
        if not options.check:
            (ROOT / path).write_text(new)
    if options.check and stale:
        print(f"{', '.join(stale)}: tables are not what results/h200 holds; run scripts/readme_tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
