"""Whether the tile that wins on one device wins on another, from the files that both have."""

import json
import statistics

from tables import numbers
from tables.markdown import table_lines
from tables.records import extents, milliseconds, ms_text, named, problem_of, timed

COLUMNS = ["", "problem", "B,T,H,K,V", "tiles", "H200 ms", "H100 ms", "the H200's tile on the H100",
           "the H100's tile on the H200"]
TEXT_COLUMNS = {"", "problem", "B,T,H,K,V"}


def candidate_of(record):
    return record["variant"], json.dumps(record["tile"], sort_keys=True)


def problems(records):
    """The timed candidates of our own by file and problem, and by variant and tile."""
    found = {}
    for record in records:
        if timed(record) and not record["peer"]:
            key = record["file"], record["direction"], record["operator"], problem_of(record)
            found.setdefault(key, {})[candidate_of(record)] = record
    return found


def transfers(one, other):
    """For each problem that both devices have in a file of the same name, and with two candidates at least that both
    have timed: how many those are, the fastest of them on each device, and how much slower, as a share, each device's
    fastest is on the other than the other's own."""
    there = problems(other)
    found = []
    for key, here in problems(one).items():
        both = [candidate for candidate in here if candidate in there.get(key, {})]
        if len(both) < 2:
            continue
        best = min(both, key=lambda candidate: milliseconds(here[candidate]))
        best_there = min(both, key=lambda candidate: milliseconds(there[key][candidate]))
        found.append((len(both), here[best], there[key][best_there],
                      milliseconds(there[key][best]) / milliseconds(there[key][best_there]) - 1,
                      milliseconds(here[best_there]) / milliseconds(here[best]) - 1))
    return found


def summary(losses):
    return f"median {numbers.percent(statistics.median(losses))}, worst {numbers.percent(max(losses))}"


def devices_table(h200, h100):
    """One row for each problem, and in the last line what all of them lose."""
    rows = transfers(h200, h100)
    if not rows:
        return "Not measured yet: no file of results/h100 has problems of a file of results/h200."
    lines = table_lines(COLUMNS, TEXT_COLUMNS, (
        [here["direction"], named(here), extents(here), str(count), ms_text(here), ms_text(there),
         "+ " + numbers.percent(forth), "+ " + numbers.percent(back)] for count, here, there, forth, back in rows))
    lines += ["", f"Of {len(rows)} problems, the H200's tile loses on the H100 {summary([row[3] for row in rows])}; the "
                  f"H100's tile loses on the H200 {summary([row[4] for row in rows])}."]
    return "\n".join(lines)
