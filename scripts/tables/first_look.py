"""The answer of docs/first_look.md: one problem, as the page's summary gives it."""

from tables import numbers
from tables.records import extents, fastest, milliseconds, share, timed


HOLDERS = {"memory": "memory", "tensor_cores": "the tensor cores", "latency": "latency",
           "arithmetic": "arithmetic"}


def ranked(records):
    """The fastest of each variant on one problem, by the program's ranks."""
    return sorted(fastest(records), key=lambda record: record["row"]["rank"])


def times(ratio):
    return f"{numbers.factor(ratio)} times"


def microseconds(ms):
    return f"{numbers.digits(1000 * ms, 4)} µs"


def first_look(records):
    """The answer of docs/first_look.md: one problem of gla forward, as the page's summary gives it."""
    mine = [r for r in records if r["operator"] == "gla" and r["direction"] == "forward" and timed(r)
            and r["dtype"] == "bfloat16" and r["gate"] == "mild" and not r.get("options")
            and extents(r) == "1,32768,16,128,128"]
    ours = ranked([r for r in mine if not r["peer"]])
    peers = ranked([r for r in mine if r["peer"]])
    if len(ours) < 2 or not peers:
        return "Not measured yet."
    best, ms = ours[0], milliseconds(ours[0])
    tile = ", ".join(f"{axis}={value}" for axis, value in best["tile"].items())
    lines = [f"- **Which:** `{best['variant']}`, tile `{tile}`, {microseconds(ms)}. The next, "
             f"`{ours[1]['variant']}`, takes {times(ours[1]['row']['over_winner'])} as long."]
    row = best["row"]
    floor_ms = row["floor_ms"]
    if row["measured_bytes"] is not None:
        lines.append(f"- **Why:** held by {HOLDERS[row['bound_by']]}: {numbers.percent(row['of_copy'])} of what a "
                     f"copy reaches, of counted bytes, and {numbers.percent(row['of_peak'])} of the tensor cores' "
                     f"peak, at {times(row['measured_bytes'] / row['floor_bytes'])} the floor's bytes.")
    lines.append(f"- **How far from the floor:** {share(best)} of it, which is {microseconds(floor_ms)}: "
                 f"{times(ms / floor_ms)} the floor.")
    lines.append(f"- **From the best peer:** `{peers[0]['variant']}` takes {numbers.ms(milliseconds(peers[0]))} ms, "
                 f"{times(peers[0]['row']['over_winner'])} as long.")
    return "\n".join(lines)
