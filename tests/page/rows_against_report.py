#!/usr/bin/env python3
"""Holds the rows of a page to those of `report --json`: rows_against_report.py PROGRAM SOURCE FOLDER

Over all committed records, once whole and once with --where: what both have must be the same, numbers
to the last digit.
"""
import json
import pathlib
import subprocess
import sys

program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

# Rows of a page have these in another form.
other = {"shape", "options", "tile"}


def rows(files, *options):
    page = folder / "rows.html"
    subprocess.run([program, "report", *files, "--html", page, *options], check=True)
    text = subprocess.run([program, "report", *files, "--json", "-", *options], check=True,
                          capture_output=True, text=True).stdout
    decoded = subprocess.run(["node", folder / "rows_of_page.cjs", page], check=True,
                             capture_output=True, text=True).stdout
    return json.loads(decoded), json.loads(text)


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
            if found[key] != expected[key]:
                yield f"{name}: {key}: found {found[key]!r}, expected {expected[key]!r}"
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
              "bound_why", "row", "file", "reason", "suspect", "peer", "device", "standing", "rank",
              "over_winner", "over_winner_low", "over_winner_high", "of_floor"}
    wrong += [f"neither page nor report has {key}" for key in needed - shared]
    if wrong:
        print("\n".join(wrong[:20]), f"\n{len(wrong)} differences")
        sys.exit(1)
    count += len(page)
print(f"{count} rows are the same")
