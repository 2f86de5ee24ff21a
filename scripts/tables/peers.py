"""Our best beside other projects' functions of the same run (results/<device>/peers/)."""

from tables import numbers
from tables.markdown import table_lines
from tables.records import extents, milliseconds, ms_text, named, problem_of, share, timed

COLUMNS = ["", "problem", "B,T,H,K,V", "ours", "ms", "TFLOP/s", "of the floor", "best right peer", "its ms", "ratio",
           "peers that are wrong: ms, output, error over its bound"]
TEXT_COLUMNS = {"", "problem", "B,T,H,K,V", "ours", "best right peer", COLUMNS[-1]}
DIRECTIONS = ["forward", "training", "backward"]


def worst_output(record):
    """"`dq` 1.4": the output that is furthest beyond its bound of rel_l2, or what else was found."""
    over = {name: one["rel_l2"] / one["bound"] for name, one in record["verification"]["tensors"].items()
            if one.get("bound")}
    name = max(over, key=over.get, default=None)
    if name is not None and over[name] > 1:
        return f"`{name}` {numbers.factor(over[name])}"
    return f"`{record['verification']['check']}`"


def peers_row(rows):
    own = next((r for r in rows if not r["peer"] and r["standing_in_file"] == "winner"), None)
    peers = [r for r in rows if r["peer"]]
    right = min((r for r in peers if timed(r)), key=milliseconds, default=None)
    wrong = {}
    for record in peers:
        if record["status"] == "wrong" and record["timing"]:
            before = wrong.get(record["variant"])
            if before is None or milliseconds(record) < milliseconds(before):
                wrong[record["variant"]] = record
    cells = [rows[0]["direction"], named(rows[0]), extents(rows[0])]
    if own is None:
        cells += ["-"] * 4
    else:
        cells += [f"`{own['variant']}`", ms_text(own), numbers.fixed(own["row"]["tflop_per_s"], 0), share(own)]
    if right is None or own is None:
        cells += ["-", "-", "-"]
    else:
        cells += [f"`{right['variant']}`", numbers.ms(milliseconds(right)),
                  numbers.factor(milliseconds(right) / milliseconds(own))]
    cells.append("; ".join(f"`{name}`: {numbers.ms(milliseconds(record))}, {worst_output(record)}"
                           for name, record in sorted(wrong.items())) or "-")
    return cells


DRAWN = "drawn.json"  # the file of problems that nobody chose, where ours is what `auto` takes


def peers_table(records):
    """One row for each problem that was chosen to be compared, by direction and operator."""
    return table_of([record for record in records if record["file"] != DRAWN], "headline.json")


def drawn_peers_table(records):
    """The same for the problems that a seed has drawn."""
    return table_of([record for record in records if record["file"] == DRAWN], DRAWN)


def table_of(records, config):
    if not records:
        return f"Not measured yet: `gla-bench run examples/peers/{config}` makes such records."
    problems = {}
    for record in records:
        key = (record["file"], record["direction"], record["operator"], problem_of(record))
        problems.setdefault(key, []).append(record)
    tried = [rows for rows in problems.values() if any(r["peer"] for r in rows)]
    tried.sort(key=lambda rows: DIRECTIONS.index(rows[0]["direction"]))
    return "\n".join(table_lines(COLUMNS, TEXT_COLUMNS, map(peers_row, tried)))
