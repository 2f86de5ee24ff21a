"""The answer of docs/first_look.md: one problem, as the page's summary gives it."""

from tables.records import counted, extents, milliseconds, share, timed


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
