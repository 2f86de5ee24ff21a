"""Our best beside the best peer, and the targets; the README shows five rows of it."""

from datetime import datetime

from tables import numbers
from tables.markdown import table_lines
from tables.records import (ROOT, counted, extents, milliseconds, ms_text, share, sustained_ms,
                            timed)


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
BY_SUSTAINED = "\u00a7"  # a section sign
# The share of its bytes that a call may leave in the cache and still be told by its cold time.
MOST_LEFT_BEHIND = 0.05


def leaves_much_behind(record):
    """Whether more of its bytes move after the clock has stopped than a cold time should hide."""
    left = (record["io"].get("measured") or {}).get("written_back_bytes")
    return counted(record) and left is not None and left > MOST_LEFT_BEHIND * record["io"]["floor_bytes"]


def agree(record, other, keys):
    """Whether two runs have the same facts of these names."""
    ours, theirs = record["run"], other["run"]
    return all(ours[key] and ours[key] == theirs[key] for key in keys)


def side_by_side(record, other):
    """Whether two runs were on the same device and driver within six hours."""
    ours, theirs = record["run"], other["run"]
    if not agree(record, other, ("uuid", "driver")):
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
        return cells + ["-"] * 10 + [f"{target_ms:g}", "not measured"]
    best = next(r for r in own if r["standing_in_file"] == "winner")
    ms = milliseconds(best)
    tile = ", ".join(f"{axis}={value}" for axis, value in best["tile"].items())
    moved = "-"
    if counted(best) and best["io"]["floor_bytes"] >= 2 * best["l2_bytes"]:
        counts = best["io"]["measured"]
        total = counts["dram_read_bytes"] + counts["dram_write_bytes"]
        moved = f"{total / best['io']['floor_bytes']:.3f}"
    peers = [r for r in rows if r["peer"] and not r["variant"].endswith(".eager")]
    beside = [r for r in peers if side_by_side(best, r)]
    # One of the same model will do where there is no other, and is marked.
    like = beside or [r for r in peers if agree(best, r, ("device", "driver"))]
    peer = min(like, key=milliseconds, default=None)
    peers_sustained = sustained_ms(peer) if peer else None
    of_floor, ratio = share(best), numbers.factor(milliseconds(peer) / ms if peer else None)
    if leaves_much_behind(best) and sustained_ms(best):
        of_floor = f"{numbers.percent(best['row']['floor_ms'] / sustained_ms(best))} {BY_SUSTAINED}"
        if peer:  # a cold call of one that was never measured so is all there is to go by
            theirs = peers_sustained or milliseconds(peer)
            ratio = f"{numbers.factor(theirs / sustained_ms(best))} {BY_SUSTAINED}"
    cells += [f"`{best['variant']}`", tile, ms_text(best), numbers.ms(sustained_ms(best)), of_floor,
              moved]
    if peer is None:
        cells += ["-", "-", "-", "-"]
    else:
        mark = "" if beside else f" {ELSEWHERE}"
        cells += [f"`{peer['variant']}`", numbers.ms(milliseconds(peer)) + mark,
                  numbers.ms(peers_sustained), ratio]
    verdict = "met" if ms <= target_ms else "**missed**" + (f": {why}" if why else "")
    spills = (best.get("build") or {}).get("spill_bytes", 0)
    return cells + [f"{target_ms:g}", verdict + (f" (spills {spills} bytes)" if spills else "")]


HEADLINE_COLUMNS = ["operator", "B,T,H,K,V", "best variant", "tile", "ms", "sustained", "of the floor",
                    "bytes over floor", "best peer", "its ms", "its sustained", "ratio",
                    "target ms", ""]
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
                "results/h200/headline.json` makes the records.")
    rows = [dict(zip(HEADLINE_COLUMNS, headline_row(records, target))) for target in wanted]
    # The columns' names are those of the whole table, whose heads may differ.
    heads = {head for name, head in columns.items() if name in TEXT_COLUMNS}
    lines = table_lines(columns.values(), heads, ([row[name] for name in columns] for row in rows))
    if any(ELSEWHERE in line for line in lines):
        lines += ["", f"{ELSEWHERE} In an earlier run, on another device of the same model with the same driver."]
    if any(BY_SUSTAINED in line for line in lines):
        lines += ["", f"{BY_SUSTAINED} By sustained times (a peer without one: cold), as a call leaves over "
                      f"{numbers.percent(MOST_LEFT_BEHIND)} of its bytes in the cache."]
    return "\n".join(lines)


def headline_table(records):
    """Our best beside the best peer measured beside it, and the targets."""
    return headline_lines(records, {name: name for name in HEADLINE_COLUMNS}, targets())


def headline_short(records):
    """The README's five rows of the same table."""
    by_problem = {target[:3]: target for target in targets()}
    return headline_lines(records, SHORT_COLUMNS, [by_problem[key] for key in SHORT_PROBLEMS])
