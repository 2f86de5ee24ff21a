"""The list of planted faults: how it is read, what it must hold, and how a fault is applied.

A file of tests/mutants/ is {"backend": "host" or "cuda", "faults": [...]}. A fault has

  name       of its own in all files, in lower case with underscores
  file       the source, from the root: a .cpp below kernels/ on the host, a .cuh or .h for CUDA
  after      optional: text that occurs once in the source; the edit is the first `find` behind it
  find       the text that is replaced; without `after` it occurs once in the source
  replace    what stands there instead
  what       a sentence that says what is wrong
  variants   the variants that have the fault
  operators  the operators whose rows it is run against
  directions optional: the directions of these rows; both without it
  equivalent optional: why no input can tell the edit from the original
  not_wanted optional: why configs/ci.json is not asked to catch it
  survives   optional: what would catch it, where configs/ci.json does not yet

Equivalent and unwanted faults are listed and neither run nor counted. One that survives is run and counts as
not caught; only samples leave it out.
"""

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = "tests/mutants"
BACKENDS = ("host", "cuda")
SUFFIXES = {"host": {".cpp"}, "cuda": {".cuh", ".h"}}
REQUIRED = {"name": str, "file": str, "find": str, "replace": str, "what": str, "variants": list,
            "operators": list}
OPTIONAL = {"after": str, "directions": list, "equivalent": str, "not_wanted": str, "survives": str}


class BadList(Exception):
    """A list of faults that breaks its own rules."""


@dataclass
class Fault:
    backend: str
    name: str
    file: str
    find: str
    replace: str
    what: str
    variants: list = field(default_factory=list)
    operators: list = field(default_factory=list)
    directions: list = field(default_factory=list)
    after: str = ""
    equivalent: str = ""
    not_wanted: str = ""
    survives: str = ""

    @property
    def counts(self):
        """Whether it is run, and has to be caught."""
        return not self.equivalent and not self.not_wanted

    def applied(self, root):
        """The text of the source with the fault in it."""
        text = (root / self.file).read_text()
        begin = 0
        if self.after:
            expect(text.count(self.after) == 1,
                   f"{self.name}: `after` occurs {text.count(self.after)} times in {self.file}, not once")
            begin = text.index(self.after) + len(self.after)
        else:
            expect(text.count(self.find) == 1,
                   f"{self.name}: `find` occurs {text.count(self.find)} times in {self.file}, not once")
        at = text.find(self.find, begin)
        expect(at >= 0, f"{self.name}: `find` does not occur behind `after` in {self.file}")
        return text[:at] + self.replace + text[at + len(self.find):]


def expect(holds, complaint):
    if not holds:
        raise BadList(complaint)


def read_fault(backend, entry, where):
    """One entry of a file, held to the form above. @throws BadList"""
    expect(isinstance(entry, dict), f"{where} is not an object")
    name = entry.get("name", where)
    for key, kind in REQUIRED.items():
        expect(isinstance(entry.get(key), kind), f"{name}: \"{key}\" is missing, or not a {kind.__name__}")
    for key in entry:
        expect(key in REQUIRED or isinstance(entry[key], OPTIONAL.get(key, ())),
               f"{name}: unexpected \"{key}\"")
    for key in ("variants", "operators", "directions"):
        if key == "directions" and key not in entry:
            continue
        expect(entry[key] and all(isinstance(x, str) for x in entry[key]), f"{name}: \"{key}\" holds no names")
    fault = Fault(backend, **entry)
    expect(re.fullmatch(r"[a-z0-9_]+", fault.name), f"{name}: the name has other characters than a-z, 0-9 and _")
    path = Path(fault.file)
    expect(path.parts[0] == "kernels" and ".." not in path.parts and path.suffix in SUFFIXES[backend],
           f"{name}: \"{fault.file}\" is not a source of the {backend} below kernels/")
    expect(fault.find and fault.find != fault.replace, f"{name}: the edit changes nothing")
    expect(len(fault.what.split()) > 3 and fault.what.endswith("."), f"{name}: \"what\" is not a sentence")
    argued = [fault.equivalent, fault.not_wanted, fault.survives]
    expect(sum(map(bool, argued)) < 2, f"{name}: only one of equivalent, not_wanted and survives")
    return fault


def read_file(path):
    document = json.loads(path.read_text())
    expect(isinstance(document, dict) and set(document) == {"backend", "faults"},
           f"{path.name}: expected \"backend\" and \"faults\"")
    backend = document["backend"]
    expect(backend in BACKENDS, f"{path.name}: \"{backend}\" is no backend")
    return [read_fault(backend, entry, f"{path.name}, fault {n}")
            for n, entry in enumerate(document["faults"])]


def read_all(root):
    """All faults of the tree, each applied once to see that it can be. @throws BadList"""
    paths = sorted((root / FOLDER).glob("*.json"))
    expect(paths, f"{root / FOLDER} has no list of faults")
    faults = [fault for path in paths for fault in read_file(path)]
    names = [fault.name for fault in faults]
    for name in names:
        expect(names.count(name) == 1, f"{name}: two faults have this name")
    for fault in faults:
        expect((root / fault.file).is_file(), f"{fault.name}: there is no {fault.file}")
        fault.applied(root)
    return faults


def sample_of(faults, count, date):
    """`count` of the faults, others on another date."""
    return random.Random(date).sample(faults, min(count, len(faults)))
