#!/usr/bin/env python3
"""Holds the rows of a page to the other reports: rows_against_report.py PROGRAM SOURCE FOLDER

Over all committed records, once whole and once with --where: what both the page and `report --json` have
must be the same, numbers to the last digit. And what the tables of the terminal, of markdown and of the page
show of one record must have the same digits, the errors of its outputs as well.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "scripts"))
from tables import numbers  # pylint: disable=wrong-import-position

program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

# Rows of a page have these in another form.
other = {"shape", "options", "tile"}


def report(files, *options):
    return subprocess.run([program, "report", *files, *options], check=True, capture_output=True,
                          text=True).stdout


def rows_of_page(files, *options):
    page = folder / "rows.html"
    report(files, "--html", page, *options)
    decoded = subprocess.run(["node", folder / "rows_of_page.cjs", page], check=True,
                             capture_output=True, text=True).stdout
    return json.loads(decoded)


def pairs(value):
    texts = {True: "true", False: "false"}
    return ",".join(f"{key}={texts.get(item, item) if isinstance(item, bool) else item}"
                    for key, item in value.items())


def differences(page, rows):
    if len(page) != len(rows):
        yield f"{len(page)} rows, expected {len(rows)}"
    for found, expected in zip(page, rows):
        name = f"{expected['file']}#{expected['row']}"
        for key in (set(found) & set(expected)) - other:
            if found[key] != expected[key]:
                yield f"{name}: {key}: found {found[key]!r}, expected {expected[key]!r}"
        for key in ("tile", "options"):
            if pairs(found[key]) != expected[key]:
                yield f"{name}: {key}: found {found[key]!r}, expected {expected[key]!r}"


def terminal_tables(text):
    """(title, [{column: cell}]) of each table that begins with "variant"; a line of dashes says where
    its columns are."""
    lines = text.splitlines()
    title = ""
    for at, line in enumerate(lines):
        if re.fullmatch(r"[a-z0-9_]+ (forward|backward|training) .* gate=.*", line):
            title = line
        if not re.fullmatch(r"-+(  -+)+", line) or not lines[at - 1].startswith("variant"):
            continue
        spans = [match.span() for match in re.finditer("-+", line)]
        cut = lambda row: [row[first:last].strip() for first, last in spans]
        end = next(i for i in range(at + 1, len(lines) + 1)
                   if i == len(lines) or not lines[i] or lines[i].startswith(("variant", "refused:")))
        yield title, [dict(zip(cut(lines[at - 1]), cut(row))) for row in lines[at + 1:end]]


def markdown_tables(text):
    """The same of a markdown report."""
    cells = lambda line: [re.sub(r"\\(.)", r"\1", cell.strip()).replace("&lt;", "<").replace("&gt;", ">")
                          for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    title, lines = "", text[text.index("\n## Records"):].splitlines()
    for at, line in enumerate(lines):
        if line.startswith("#### "):
            title = re.sub(r"\\(.)", r"\1", line[5:])
        if line.startswith("| variant"):
            end = next(i for i in range(at, len(lines) + 1)
                       if i == len(lines) or not lines[i].startswith("|"))
            yield title, [dict(zip(cells(line), cells(row))) for row in lines[at + 2:end]]


# The columns of a report's tables and those of the page; the page writes a time with its unit.
shared_cells = {"ms": "cold_ms", "hot ms": "hot_ms", "of floor": "of_floor", "TFLOP/s": "tflop_per_s",
                "GB/s": "gb_per_s"}


def digits_of(cell, key):
    if cell in ("", "-", "\u2013"):
        return "-"
    if key in ("cold_ms", "hot_ms"):
        return re.sub("[^0-9]", "", cell).lstrip("0")
    return cell


def worst_error(cell):
    """ "1.2e-3" of "o 1.2e-3 (31 %)". """
    found = re.fullmatch(r"\S+ (\S+) \(.*\)", cell)
    return found.group(1) if found else "-"


def unlike_cells(page, terminal, markdown):
    """What terminal, markdown and page show of one record in different digits, and how many cells were
    compared with the page's."""
    wrong, count = [], 0
    by_title = {}
    for title, lines in markdown:
        by_title.setdefault(title, []).append(lines)
    rows = {(f"{row['title']} on {row['device']}", row["name"], row["tile_label"].replace(", ", ",") or "-",
             digits_of(row["cells"]["cold_ms"], "cold_ms")): row for row in page}
    for title, lines in terminal:
        tables = by_title.get(title, [])
        if lines not in tables:
            wrong.append(f"{title}: markdown has no table like the terminal's {lines}")
        if "error" not in lines[0]:
            continue
        for line in lines:
            place = (title, line["variant"], line.get("best tile", "-"), digits_of(line.get("ms", "-"), "cold_ms"))
            row = rows.get(place)
            if row is None:
                wrong.append(f"the page has no row {place}")
                continue
            for column, key in shared_cells.items():
                shown, found = line.get(column, "-"), row["cells"][key]
                count += 1
                if digits_of(shown, key) != digits_of(found, key):
                    wrong.append(f"{title}: {line['variant']}: {column}: {shown!r}, on the page {found!r}")
            errors = worst_error(line["error"]), row["cells"]["error"].replace("\u2013", "-")
            if errors[0] != errors[1]:
                wrong.append(f"{title}: {line['variant']}: error: {errors[0]}, on the page {errors[1]}")
    return wrong, count


def unlike_errors(page, records):
    """Errors of single outputs, of which the page keeps fewer digits than records do, but not fewer than it
    shows."""
    for row in page:
        verdicts = (records[row["file"]][row["row"] - 1].get("verification") or {}).get("tensors", {})
        if len(row["tensors"]) != len(verdicts):
            yield f"{row['record']}: {len(row['tensors'])} outputs, expected {len(verdicts)}"
        for tensor in row["tensors"]:
            for key, recorded in (("error", "rel_l2"), ("bound", "bound")):
                found, expected = tensor[key], verdicts[tensor["name"]][recorded]
                if isinstance(found, str) or isinstance(expected, str):
                    if found != expected:
                        yield f"{row['record']}: {tensor['name']}: {key}: {found}, expected {expected}"
                elif numbers.error(found) != numbers.error(expected):
                    yield f"{row['record']}: {tensor['name']}: {key}: {found}, expected {expected}"


def fail_on(wrong):
    if wrong:
        print("\n".join(wrong[:20]), f"\n{len(wrong)} differences")
        sys.exit(1)


def check_rows(files, *options):
    page, rows = rows_of_page(files, *options), json.loads(report(files, "--json", "-", *options))
    wrong = list(differences(page, rows))
    shared = set(page[0]) & set(rows[0])
    needed = {"operator", "dtype", "seq", "variant", "status", "cold_ms", "hot_ms", "floor_bytes",
              "model_bytes", "measured_bytes", "error", "bound", "joules", "command", "bound_by",
              "bound_why", "row", "file", "reason", "suspect", "peer", "device", "standing", "rank",
              "over_winner", "over_winner_low", "over_winner_high", "of_floor", "floor_ms", "gb_per_s",
              "tflop_per_s"}
    fail_on(wrong + [f"neither page nor report has {key}" for key in needed - shared])
    return page


def check_cells(files, page):
    terminal = list(terminal_tables(report(files, "--width", "0")))
    markdown = list(markdown_tables(report(files, "--markdown")))
    wrong, count = unlike_cells(page, terminal, markdown)
    fail_on(wrong)
    if count < 1000:
        fail_on([f"only {count} cells were compared"])
    # The comparison can fail: another digit on the page, or in markdown, is seen.
    changed = json.loads(json.dumps(page))
    for row in changed:
        row["cells"]["of_floor"] = row["cells"]["of_floor"].replace("1", "2")
    moved = [(title, [dict(line, error="o 9.9e-9 (1 %)") for line in lines]) for title, lines in markdown]
    if not unlike_cells(changed, terminal, markdown)[0] or not unlike_cells(page, terminal, moved)[0]:
        fail_on(["planted differences were not seen"])
    return count


everything = sorted((source / "results" / "h200").glob("*.json"))
whole = check_rows(everything)
some = check_rows(everything, "--where", "operator=gla,dtype=fp16")
cells = check_cells(everything, whole)
fail_on(list(unlike_errors(whole, {str(path): json.loads(path.read_text())["records"] for path in everything})))
print(f"{len(whole) + len(some)} rows are the same, and {cells} cells of terminal, markdown and page")
