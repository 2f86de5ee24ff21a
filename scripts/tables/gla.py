"""Variants and peers of gla forward by shape."""

from tables import numbers
from tables.records import extents, fastest, milliseconds, ms_text, share, timed


def gla(records):
    """Variants and peers of gla forward by shape: the headline sweeps' bfloat16 problems."""
    mine = [r for r in records if r["operator"] == "gla" and r["direction"] == "forward" and timed(r) and r["dtype"] == "bfloat16"
            and r["gate"] == "mild" and not r.get("initial_state") and not r.get("options")]
    # The columns are those of gla.json; other files may hold the same problems, too.
    shapes = list(dict.fromkeys(extents(r) for r in mine if r["file"] == "gla.json"))
    best = {(record["variant"], extents(record)): record for record in fastest(mine)}
    lines = ["| B,T,H,K,V | " + " | ".join(shapes) + " |", "|---" * 1 + "|---:" * len(shapes) + "|"]

    def cell(variant, shape):
        record = best.get((variant, shape))
        if record is None:
            return "-"
        text = f"{ms_text(record)} ({share(record)})"
        return f"**{text}**" if record["row"]["standing"] == "winner" else text

    names = list(dict.fromkeys(variant for variant, _ in best))
    names.sort(key=lambda name: (best.get((name, shapes[0]), {}).get("peer", False),
                                 milliseconds(best[name, shapes[0]]) if (name, shapes[0]) in best
                                 else float("inf")))
    for name in names:
        lines.append(f"| `{name}` | " + " | ".join(cell(name, shape) for shape in shapes) + " |")
    floors = {extents(r): r["row"]["floor_ms"] for r in mine if not r["peer"]}
    lines.append("| floor | " + " | ".join(numbers.ms(floors[shape]) for shape in shapes) + " |")
    return "\n".join(lines)
