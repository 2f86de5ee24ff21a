#!/usr/bin/env python3
"""Makes the results files of a sweep over many shards out of recorded rows, to see what merging them takes.

    scripts/scale/shard_set.py FOLDER [--shards 1000] [--rows 100000] [--records FILE]
    gla-bench merge FOLDER/part-*.json -o whole.json

Each problem of the set is a recorded problem with another seed of its inputs, with the rows that were recorded for
it. Shards have whole problems, and each says of itself what `run --shard` says."""

import argparse
import json
import os
from collections import defaultdict

# The members of a record that say what is computed.
OF_PROBLEM = ("operator", "direction", "dtype", "layout", "shape", "gate", "seed", "initial_state", "final_state",
              "scale", "tensors", "options")


def problem_of(record):
    return {key: record[key] for key in OF_PROBLEM if key in record}


def recorded_problems(path):
    """The environment, the config, and the measured rows of each problem of a results file."""
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    problems = defaultdict(list)
    for record in results["records"]:
        if record["status"] == "measured":
            problems[json.dumps(problem_of(record))].append(record)
    return results["environment"], results["config"], list(problems.values())


def seeded_rows(rows, seed):
    """The rows of one problem as those of the same problem with another seed."""
    changed = []
    for record in rows:
        record = dict(record, seed=seed)
        record.pop("command", None)  # it is derived from the rest, and of the old seed
        changed.append(record)
    return changed


def asked_point(place, rows):
    candidates = defaultdict(list)
    for record in rows:
        candidates[record["variant"]].append(record["tile"])
    return {"place": place, "candidates": candidates, **problem_of(rows[0])}


def shard_file(environment, config, points):
    """The text of a results file: `points` are pairs of a place and its rows."""
    lines = [json.dumps(record) for _, rows in points for record in rows]
    asked = [json.dumps(asked_point(place, rows)) for place, rows in points]
    return (f'{{"schema_version": 1,\n"environment": {json.dumps(environment)},\n"config": {json.dumps(config)},\n'
            '"asked": [\n' + ",\n".join(asked) + '\n],\n"records": [\n' + ",\n".join(lines) + "\n]}\n")


def make_set(folder, shards, rows, records):
    """Writes the files. Returns how many problems and rows there are."""
    environment, config, problems = recorded_problems(records)
    points, count = [], 0
    while count < rows:
        seed = 1000 + len(points)
        point = seeded_rows(problems[len(points) % len(problems)][:rows - count], seed)
        points.append((len(points) + 1, point))
        count += len(point)
    os.makedirs(folder, exist_ok=True)
    for number in range(1, shards + 1):
        own = dict(environment, shard=f"{number}/{shards}", shard_problems=len(points), host=f"node{(number - 1) // 8}",
                   uuid=f"GPU-{number:08d}")
        with open(os.path.join(folder, f"part-{number}.json"), "w", encoding="utf-8") as file:
            file.write(shard_file(own, config, points[number - 1::shards]))
    return len(points), count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--records", default=os.path.join(os.path.dirname(__file__), "../../results/h200/search/tuning.json"))
    options = parser.parse_args()
    problems, rows = make_set(options.folder, options.shards, options.rows, options.records)
    print(f"{options.shards} shards, {problems} problems, {rows} rows in {options.folder}")


if __name__ == "__main__":
    main()
