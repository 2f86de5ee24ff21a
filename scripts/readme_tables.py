#!/usr/bin/env python3
"""Writes the tables of measured figures in README.md and docs/ from committed records.

    readme_tables.py --program build/gla-bench            writes them between their markers
    readme_tables.py --program build/gla-bench --check    says what is out of date, exit code 1

Every figure in such a table comes from results/. Rows whose sources have changed since are
marked, by the program's own sources. Who wins, and which tile stands for its
variant, comes from the program (`gla-bench report --json`). Needs nothing else but Python 3.
"""

import argparse
import sys

from tables.devices import devices_table
from tables.first_look import first_look
from tables.gla import gla
from tables.headline import headline_short, headline_table
from tables.measured import measured
from tables.peers import drawn_peers_table, peers_table
from tables.records import ROOT, load, with_stale_note
from tables.variants import mission

# The file that shows each table, between its markers, and the folders of results/ that it is made of.
TABLES = {
    "README.md": [("headline_short", headline_short, ["h200"])],
    "docs/headline.md": [("headline", headline_table, ["h200"])],
    "docs/peers.md": [("peers_h200", peers_table, ["h200/peers"]), ("peers_drawn", drawn_peers_table, ["h200/peers"]),
                      ("peers_h100", peers_table, ["h100/peers"])],
    "docs/devices.md": [("devices", devices_table, ["h200", "h100"])],
    "docs/first_look.md": [("first_look", first_look, ["h200"])],
    "docs/measured.md": [("mission", mission, ["h200"]), ("gla", gla, ["h200"]), ("measured", measured, ["h200"])],
}


def with_table(text, name, table):
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = text.split(begin)
    return head + begin + "\n" + table + "\n" + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the gla-bench that decides who wins")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when stale")
    parser.add_argument("--only", nargs="+", default=list(TABLES), choices=list(TABLES), metavar="FILE",
                        help="of these documents (default: of all that have tables)")
    options = parser.parse_args()
    chosen = {path: TABLES[path] for path in options.only}
    folders = {folder for tables in chosen.values() for *_, of in tables for folder in of}
    records = {folder: load(options.program, folder) for folder in sorted(folders)}
    stale = []
    for path, tables in chosen.items():
        text = (ROOT / path).read_text()
        new = text
        for name, table, of in tables:
            new = with_table(new, name, with_stale_note(table(*(records[folder] for folder in of))))
        if new == text:
            continue
        stale.append(path)
        if not options.check:
            (ROOT / path).write_text(new)
    if options.check and stale:
        print(f"{', '.join(stale)}: tables are not what results/ holds; run scripts/readme_tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
