#!/usr/bin/env python3
"""Says which values of tile axes win nowhere.

    dead_axes.py FILE... [--program GLA_BENCH] [--by PERCENT] [--json]

FILE holds records with many tiles of a problem, such as results/h200/search/*.json. For each value of each
axis it compares, problem by problem, the fastest tile of the variant that has the value with the fastest that
has not. A value is alive where it is ahead by --by (1 %) on a problem, or no tile without it ran. It is dead
where it was tried on three problems or more and is never ahead. Axes with one value are left out. With
--program, a tile from before an axis existed counts as having that axis' first value, as it does there.

The output is a table: variant, axis, value, on how many problems it was tried, on how many it was ahead, and
what leaving it out would cost at most. What is dead should not be in the variant's default space.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

LEAST_PROBLEMS = 3


def first_values(program):
    """{(variant, direction): {axis: its first value}} of the program's CUDA variants."""
    if not program:
        return {}
    listed = json.loads(subprocess.run([program, "list", "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    return {(variant["name"], variant["direction"]): {axis["name"]: axis["values"][0]
                                                      for axis in variant["axes"]}
            for operator in listed for variant in operator["variants"]
            if variant["backend"] == "cuda"}


def times_of(paths, first):
    """{(variant, direction): {problem: {tile as sorted items: median ms}}} of what is right."""
    times = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in paths:
        for record in json.loads(pathlib.Path(path).read_text())["records"]:
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
        if not having or not others:
            continue
        tried += 1
        cost = min(others) / min(having) - 1
        most = max(most, cost)
        ahead += cost > by
    return tried, ahead, most


def rows_of(times, by):
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
                       "dead": tried >= LEAST_PROBLEMS and ahead == 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--by", type=float, default=1, help="percent by which a value has to be ahead")
    parser.add_argument("--program", help="gla-bench, whose axes the tiles are completed with")
    parser.add_argument("--json", action="store_true", help="as JSON, all values")
    options = parser.parse_args()
    rows = list(rows_of(times_of(options.files, first_values(options.program)),
                        options.by / 100))
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
