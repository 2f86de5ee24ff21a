#!/usr/bin/env python3
"""Says which values of tile axes win nowhere.

    dead_axes.py FILE... [--program GLA_BENCH] [--by PERCENT] [--least-problems N] [--json]
    dead_axes.py FILE... --program GLA_BENCH --write harness/config/space/rare_tiles.inc

FILE holds records with many tiles of a problem, such as results/h200/search/*.json, or is an archive of such files
(.tar.xz). For each value of each axis it compares, problem by problem, the fastest tile of the variant that has
the value with the fastest that has not. A value is alive where it is ahead by --by (1 %) on a problem, or no tile
without it ran. It is dead where it was tried on --least-problems (10) or more and is never ahead. Axes with one
value are left out. With --program, a tile from before an axis existed counts as having that axis' first value, as
it does there.

The output is a table: variant, axis, value, on how many problems it was tried, on how many it was ahead, and
what leaving it out would cost at most. --write writes what is dead as the file by which sweeps leave it out (JSON in a
C++ literal). What that file left out before stays out unless it is ahead on a problem: searches no longer try it, so
that newer records are silent on it. Not written: the first value of an axis, which stands for tiles from before there
was the axis, and values of axes that decide the arithmetic of products (terms, tf32), which a config may ask for.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

from packed import documents_of

ARITHMETIC_AXES = ("terms", "tf32")


def axes_of(program):
    """{(variant, direction): {axis: its values}} of the program's CUDA variants."""
    if not program:
        return {}
    listed = json.loads(subprocess.run([program, "list", "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    return {(variant["name"], variant["direction"]): {axis["name"]: axis["values"] for axis in variant["axes"]}
            for operator in listed for variant in operator["variants"]
            if variant["backend"] == "cuda"}


def times_of(paths, axes):
    """{(variant, direction): {problem: {tile as sorted items: median ms}}} of what is right."""
    times = collections.defaultdict(lambda: collections.defaultdict(dict))
    first = {name: {axis: values[0] for axis, values in of.items()} for name, of in axes.items()}
    for document in (document for path in paths for _, document in documents_of(path)):
        for record in document["records"]:
            timing = record.get("timing")
            if record["status"] not in ("measured", "verified") or record.get("peer") or not timing \
                    or timing["suspect"] or not timing["cold"]["median_ms"] > 0:
                continue
            problem = json.dumps([record[key] for key in
                                  ("operator", "dtype", "layout", "shape", "initial_state", "final_state")]
                                 + [record.get("options")])
            name = record["variant"], record["direction"]
            tile = tuple(sorted({**first.get(name, {}), **record["tile"]}.items()))
            of = times[name][problem]
            of[tile] = min(timing["cold"]["median_ms"], of.get(tile, float("inf")))
    return times


def judge(problems, axis, value, by):
    """(problems that it was tried on, problems that it is ahead on, most that others cost over it)."""
    tried = ahead = 0
    most = 0.0
    for tiles in problems.values():
        having = [ms for tile, ms in tiles.items() if dict(tile).get(axis) == value]
        others = [ms for tile, ms in tiles.items() if dict(tile).get(axis) not in (value, None)]
        if not having or len(having) + len(others) < 2:
            continue
        if not others:  # nothing else ran there
            tried += 1
            ahead += 1
            continue
        tried += 1
        cost = min(others) / min(having) - 1
        most = max(most, cost)
        ahead += cost > by
    return tried, ahead, most


def rows_of(times, by, least_problems):
    for (variant, direction), problems in sorted(times.items()):
        values = collections.defaultdict(set)
        for tiles in problems.values():
            for tile in tiles:
                for axis, value in tile:
                    values[axis].add(value)
        for axis, found in sorted(values.items()):
            if len(found) < 2:
                continue
            for value in sorted(found):
                tried, ahead, most = judge(problems, axis, value, by)
                yield {"variant": variant, "direction": direction, "axis": axis, "value": value,
                       "problems": tried, "ahead": ahead, "most_cost": most,
                       "dead": tried >= least_problems and ahead == 0}


def left_out_by(path):
    """{(variant, direction, axis, value)} of a file that --write wrote; nothing where there is none."""
    if not pathlib.Path(path).exists():
        return set()
    text = re.fullmatch(r'R"json\((.*)\)json"\s*', pathlib.Path(path).read_text(), re.DOTALL)[1]
    return {(variant, direction, axis, value) for variant, directions in json.loads(text).items()
            for direction, axes in directions.items() for axis, values in axes.items() for value in values}


def rare(rows, axes, before=frozenset()):
    """{variant: {direction: {axis: [values]}}} of the program's own axes: what is dead, and what was left out `before`
    (left_out_by) and is nowhere ahead."""
    found = {}
    facts = {(row["variant"], row["direction"], row["axis"], row["value"]): row for row in rows}
    for variant, direction, axis, value in sorted({*facts, *before}):
        values = axes.get((variant, direction), {}).get(axis, [])
        row = facts.get((variant, direction, axis, value), {"dead": False, "ahead": 0})
        out = row["dead"] or row["ahead"] == 0 and (variant, direction, axis, value) in before
        if not out or axis in ARITHMETIC_AXES or value not in values[1:]:
            continue
        found.setdefault(variant, {}).setdefault(direction, {}).setdefault(axis, []).append(value)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--by", type=float, default=1, help="percent by which a value has to be ahead")
    parser.add_argument("--program", help="gla-bench, whose axes the tiles are completed with")
    parser.add_argument("--least-problems", type=int, default=10,
                        help="on how many problems a value has to be tried before it can be dead")
    parser.add_argument("--json", action="store_true", help="as JSON, all values")
    parser.add_argument("--write", metavar="FILE", help="write what is dead for the program (needs --program)")
    options = parser.parse_args()
    if options.write and not options.program:
        parser.error("--write needs --program, which says what the first value of an axis is")
    axes = axes_of(options.program)
    rows = list(rows_of(times_of(options.files, axes), options.by / 100, options.least_problems))
    if options.write:
        pathlib.Path(options.write).write_text(
            'R"json(\n' + json.dumps(rare(rows, axes, left_out_by(options.write)), indent=1) + '\n)json"\n')
        return
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
        return
    print("| variant | direction | axis | value | tried on | ahead on | most that others cost | |\n"
          "|---|---|---|--:|--:|--:|--:|---|")
    for row in rows:
        print(f"| {row['variant']} | {row['direction']} | {row['axis']} | {row['value']} | {row['problems']} "
              f"| {row['ahead']} | {100 * row['most_cost']:.1f} % | {'dead' if row['dead'] else ''} |")


if __name__ == "__main__":
    main()
