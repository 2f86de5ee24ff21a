"""Committed records, and what the tables ask of one of them."""

import json
import subprocess
from pathlib import Path

from tables import numbers

ROOT = Path(__file__).resolve().parent.parent.parent
DTYPES = ["float32", "bfloat16", "float16"]
DIRECTIONS = ["forward", "backward", "training"]
OPERATORS = ["linear_attention", "retention", "simple_gla", "gla", "rwkv6", "softmax", "attention",
             "decay_attention", "gla_layer"]


# Standings of records that stand for their variants, and of those whose times can be believed.
FASTEST = ("winner", "tied", "slower", "peer")
BELIEVED = (*FASTEST, "slower_tile")


def rows_of(program, paths):
    """What the program says of each record among all of these files: rows by file and place."""
    done = subprocess.run([program, "report", *paths, "--json", "-"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"readme_tables.py: {program} report ended with {done.returncode}: "
                         f"{done.stderr.strip()}")
    return {(Path(row["file"]).name, row["row"]): row for row in json.loads(done.stdout)}


def load(program, folder="h200"):
    """Every record of the files of a folder of results/; "row": what the program says of it among all files; "standing_in_file": among those of its own."""
    records = []
    paths = sorted((ROOT / "results" / folder).glob("*.json"))
    if not paths:
        return []
    among_all = rows_of(program, paths)
    for path in paths:
        alone = rows_of(program, [path])
        document = json.loads(path.read_text())
        environment = document["environment"]
        l2_bytes = float(environment.get("l2_bytes", 0))
        for place, record in enumerate(document["records"], 1):
            record["row"] = among_all[path.name, place]
            record["standing_in_file"] = alone[path.name, place]["standing"]
            record["l2_bytes"] = l2_bytes
            record["file"] = path.name
            record["run"] = {key: environment.get(key, "") for key in ("uuid", "driver", "started", "device")}
            records.append(record)
    return records


def verified(record):
    return bool(record.get("verification")) and record["verification"]["ok"]


def timed(record):
    """Whether its time can be believed."""
    return record["row"]["standing"] in BELIEVED


def fastest(records):
    """Those that stand for their variants, and for peers, on their problems."""
    return [record for record in records if record["row"]["standing"] in FASTEST]


def milliseconds(record):
    return record["timing"]["cold"]["median_ms"]


def sustained_ms(record):
    """Its milliseconds back to back over copies of the tensors beyond the cache; None without."""
    return (record["timing"].get("sustained") or {}).get("median_ms")


STALE = "\u2021"  # a double dagger


def ms_text(record):
    """Its milliseconds, marked where the code that they are of has changed since."""
    return numbers.ms(milliseconds(record)) + (f" {STALE}" if record["row"].get("stale") else "")


def with_stale_note(table):
    """The table, with what its marks mean where it has some."""
    if STALE not in table:
        return table
    return f"{table}\n\n{STALE} Its sources have changed since it was measured."


def problem_of(record):
    keys = ("shape", "gate", "layout", "initial_state", "final_state", "dtype", "options")
    return json.dumps([record.get(key) for key in keys], sort_keys=True)


def named(record):
    """"attention, full", "decay_attention, `typical`": a problem's operator and what is not usual of it."""
    words = [record["operator"]]
    if (record.get("options") or {}).get("causal") == "false":
        words.append("full")
    if record["gate"] not in ("normal", "none", "retnet") or record["operator"] == "decay_attention":
        words.append(f"`{record['gate']}`")
    return ", ".join(words)


def extents(record):
    """"8,4096,16,128,128": the extents in their order, those that are seldom given by name."""
    shape = dict(record["shape"])
    plain = [name for name in ("batch", "seq", "heads", "key_dim", "value_dim", "columns")
             if name in shape]
    text = ",".join(str(shape.pop(name)) for name in plain)
    return " ".join([text] + [f"{name}={value}" for name, value in shape.items()])


def share(record):
    return numbers.percent(record["row"]["of_floor"])


def counted(record):
    measured = record["io"].get("measured") or {}
    return (measured.get("source") == "cupti" and measured.get("dram_read_bytes") is not None
            and measured.get("dram_write_bytes") is not None)
