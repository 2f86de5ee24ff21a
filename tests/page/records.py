"""Results files for tests of the page, made of committed records."""
import copy
import json
import pathlib
import subprocess

hostile = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1><!-- '\"&{}"


def of(source, name):
    return json.loads((pathlib.Path(source) / "results" / "h200" / name).read_text())


def empty(source):
    document = of(source, "gla.json")
    document["records"] = []
    return document


def one(source):
    document = of(source, "gla.json")
    document["records"] = [row for row in document["records"] if row["status"] == "measured"][:1]
    return document


def failing(source):
    """A row of each status that is a failure, in the middle of right ones."""
    document = of(source, "gla.json")
    rows = [row for row in document["records"] if row["status"] == "measured"][:12]
    for row, status in zip(rows[3:], ["wrong", "crashed", "timeout", "build_failed", "run_failed"]):
        row.update(status=status, reason=f"planted: {status}", timing=None, verification=None)
    document["records"] = rows
    return document


def quiet(row):
    """Whether a row's times are close to each other: of others two equal runs may have no verdict."""
    cold = row["timing"]["cold"]
    return cold["p80_ms"] - cold["p20_ms"] < 0.02 * cold["median_ms"]


def twice(source):
    """Two runs of some rows, of which the second took half as long again for the first of them."""
    documents = []
    for factor in (1.0, 1.5):
        document = of(source, "gla.json")
        rows = [row for row in document["records"] if row["status"] == "measured" and quiet(row)][:40]
        cold = rows[0]["timing"]["cold"]
        for key in ("median_ms", "min_ms", "p20_ms", "p80_ms"):
            cold[key] *= factor
        # What rows of unchanged sources move is the machine's.
        rows[0]["source_hash"] += "" if factor == 1 else "changed"
        cold["samples_ms"] = [sample * factor for sample in cold["samples_ms"]]
        document["records"] = rows
        documents.append(document)
    return documents


def many(source, count):
    """Records of as many different problems and tiles as it takes, without what makes them long."""
    document = of(source, "gla.json")
    measured = [row for row in document["records"] if row["status"] == "measured"]
    for row in measured:
        row.pop("command", None)
        row["build"] = None
        row["timing"]["hot"] = None
        row["timing"]["cold"]["samples_ms"] = row["timing"]["cold"]["samples_ms"][:3]
        row["io"].get("measured", {})["metrics"] = {}
        tensors = row["verification"]["tensors"]
        row["verification"]["tensors"] = {"o": tensors["o"]}
    rows = []
    while len(rows) < count:
        base = measured[len(rows) % len(measured)]
        row = dict(base, shape=dict(base["shape"], seq=64 * (1 + len(rows) // 97 % 200)))
        row["seed"] = 1 + len(rows)
        rows.append(row)
    document["records"] = rows
    return document


def with_hostile_strings(source):
    """Markup in every text that a record or an environment may hold."""
    document = one(source)
    row = document["records"][0]
    wrong = copy.deepcopy(row)
    wrong.update(variant=hostile, status="wrong", reason=hostile, source_hash=hostile,
                 gate=hostile, options={hostile: hostile}, tile={hostile: 1})
    wrong["verification"]["tensors"] = {hostile: wrong["verification"]["tensors"]["o"]}
    wrong["verification"].update(ok=False, check=hostile, fault=hostile)
    right = copy.deepcopy(row)
    right.update(variant=hostile, gate=hostile)
    right["stages"] = [dict(name=hostile, median_ms=1.0, model_read_bytes=1, model_write_bytes=1)]
    document["records"] += [wrong, right]
    for key in ("device", "driver", "command_line", "toolkit", "git_commit", "started"):
        document["environment"][key] = hostile
    return document


def page_of(program, files, page, *options):
    """The page of results files; a document is written to a file beside the page first."""
    paths = []
    for at, file in enumerate(files):
        if isinstance(file, dict):
            path = page.with_suffix(f".{at}.json")
            path.write_text(json.dumps(file))
            file = path
        paths.append(str(file))
    subprocess.run([program, "report", *paths, "--html", str(page), *options], check=True)
    return page
