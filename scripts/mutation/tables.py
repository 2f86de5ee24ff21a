"""What a run of the faults is written as: JSON, a table in markdown, and the tables of docs/mutants.md."""

import json
import re
from collections import Counter

from mutation.trial import BROKEN, CAUGHT, LISTED, SURVIVED


def score(outcomes):
    """(caught, counted): faults that are listed alone do not count."""
    counted = [outcome for outcome in outcomes if outcome.outcome != LISTED]
    return sum(outcome.outcome == CAUGHT for outcome in counted), len(counted)


def score_line(outcomes):
    caught, counted = score(outcomes)
    share = f"{100 * caught / counted:.0f} %" if counted else "none"
    listed = sum(outcome.outcome == LISTED for outcome in outcomes)
    beside = f"; {listed} more are listed and not run" if listed else ""
    return f"{caught} of {counted} faults caught ({share}){beside}"


def check_counts(outcomes):
    """How many faults each check caught, the most first; outputs in brackets are left out."""
    counts = Counter(re.sub(r" \(.*\)", "", o.check) for o in outcomes if o.outcome == CAUGHT)
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def result_of(outcome):
    if outcome.outcome == CAUGHT:
        return outcome.check
    return {SURVIVED: "**survived**", BROKEN: "**not tried**"}.get(outcome.outcome, outcome.check)


def markdown(faults, outcomes):
    """Fault, what is wrong, and the check that caught it, in the order of the list."""
    by_name = {outcome.name: outcome for outcome in outcomes}
    lines = [score_line(outcomes) + ".", "", "| fault | what is wrong | caught by |", "|---|---|---|"]
    for fault in faults:
        outcome = by_name.get(fault.name)
        if outcome is None:
            continue
        told = result_of(outcome)
        if fault.equivalent:
            told = "equivalent: " + fault.equivalent
        elif fault.not_wanted:
            told = "not wanted: " + fault.not_wanted
        elif fault.survives and outcome.outcome == SURVIVED:
            told += ": " + fault.survives
        lines.append(f"| `{fault.name}` | {cell(fault.what)} | {cell(told)} |")
    return "\n".join(lines) + "\n"


def document(options, outcomes):
    """The whole run as JSON."""
    caught, counted = score(outcomes)
    return {"backend": options.backend, "config": str(options.config), "date": options.date,
            "caught": caught, "counted": counted, "outcomes": [outcome.as_json() for outcome in outcomes]}


def write(path, options, faults, outcomes):
    if path.suffix == ".md":
        path.write_text(markdown(faults, outcomes))
    else:
        path.write_text(json.dumps(document(options, outcomes), indent=2) + "\n")


def write_docs(page, block, faults, outcomes):
    """Replaces the block in a page: of a backend, or of faults that were tried by emulation."""
    begin, end = f"<!-- mutants {block}: begin -->\n", f"<!-- mutants {block}: end -->"
    text = page.read_text()
    head, rest = text.split(begin)
    page.write_text(head + begin + markdown(faults, outcomes) + end + rest.split(end)[1])
