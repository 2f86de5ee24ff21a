#!/usr/bin/env python3
"""Holds the rows of a page to those of `report --json`: rows_against_report.py PROGRAM SOURCE FOLDER

Over all committed records, once whole and once with --where: what both have must be the same,
numbers to the digits that the page keeps.
"""
import json
import pathlib
import subprocess
import sys

program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

# Rows of a page have these in another form, or by another rule (a peer has its device's copy rate).
other = {"shape", "options", "tile", "of_floor", "error", "bound"}


def rows(files, *options):
    page = folder / "rows.html"
    subprocess.run([program, "report", *files, "--html", page, *options], check=True)
    text = subprocess.run([program, "report", *files, "--json", "-", *options], check=True,
                          capture_output=True, text=True).stdout
    decoded = subprocess.run(["node", folder / "rows_of_page.cjs", page], check=True,
                             capture_output=True, text=True).stdout
    return json.loads(decoded), json.loads(text)


def same(found, expected, key, within=0.0051):
    if isinstance(expected, float) and isinstance(found, (int, float)):
        # 3 digits of errors and energies, 5 of times and counts
        return abs(found - expected) <= within * abs(expected)
    if key == "workspace_bytes" and found is None:
        return expected == 0  # nothing was tried
    if key == "model_bytes" and found is None:
        return expected == 0  # no model
    return found == expected


def share(row):
    """Of the bound that the error takes; which of two outputs that take the same is rounding's."""
    if row["error"] is None or row["error"] == "nan":
        return row["error"]
    return row["error"] / row["bound"]


def pairs(value):
    texts = {True: "true", False: "false"}
    return ",".join(f"{key}={texts.get(item, item) if isinstance(item, bool) else item}"
                    for key, item in value.items())


def differences(page, report):
    if len(page) != len(report):
        yield f"{len(page)} rows, expected {len(report)}"
    for found, expected in zip(page, report):
        name = f"{expected['file']}#{expected['row']}"
        for key in (set(found) & set(expected)) - other:
            if not same(found[key], expected[key], key):
                yield f"{name}: {key}: found {found[key]!r}, expected {expected[key]!r}"
        if not same(share(found), share(expected), "share", 0.0101):
            yield f"{name}: error over bound: {share(found)}, expected {share(expected)}"
        for key in ("tile", "options"):
            if pairs(found[key]) != expected[key]:
                yield f"{name}: {key}: found {found[key]!r}, expected {expected[key]!r}"


files = sorted((source / "results" / "h200").glob("*.json"))
count = 0
for options in ([], ["--where", "operator=gla,dtype=fp16"]):
    page, report = rows(files, *options)
    wrong = list(differences(page, report))
    shared = set(page[0]) & set(report[0])
    needed = {"operator", "dtype", "seq", "variant", "status", "cold_ms", "hot_ms", "floor_bytes",
              "model_bytes", "measured_bytes", "error", "bound", "joules", "command", "bound_by",
              "bound_why", "row", "file", "reason", "suspect", "peer", "device"}
    wrong += [f"neither page nor report has {key}" for key in needed - shared]
    if wrong:
        print("\n".join(wrong[:20]), f"\n{len(wrong)} differences")
        sys.exit(1)
    count += len(page)
print(f"{count} rows are the same")
