#!/usr/bin/env python3
"""Says which committed results files were made by a program that was built from uncommitted code.

    check_commits.py [ROOT]     exit code 1 where one is not in results/uncommitted.txt

A record names the commit of the program that made it, and that commit tells how it was made: unless there
were changes beside it ("git_dirty"). Such a file must not be committed. The exceptions are listed in
results/uncommitted.txt, one a line, with the reason: PATH: REASON. An exception that is none any more is
refused as well, so that the list only gets shorter. Needs nothing but Python 3.
"""

import sys
from pathlib import Path

from packed import documents_of

LIST = "results/uncommitted.txt"


def documents(root):
    """Every committed results file, and those in packed ones: (path, document)."""
    for path in sorted((root / "results").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.name.endswith((".json", ".tar.xz")):
            for member, document in documents_of(path):
                yield f"{name}/{member}" if member else name, document


def is_dirty(value):
    return value not in (False, "false", None, "")


def made_from_uncommitted(document):
    """Which of its parts: "the first run", "extended 2026-..."."""
    parts = []
    if is_dirty(document.get("environment", {}).get("git_dirty")):
        parts.append("the first run")
    parts += [f"extended {extension['started']}" for extension in document.get("extended", [])
              if is_dirty(extension.get("git_dirty"))]
    return parts


def exceptions(root):
    """Path -> reason."""
    listed = {}
    path = root / LIST
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            listed[name] = reason.strip()
    return listed


def faults(root):
    listed, found = exceptions(root), []
    dirty = {name: parts for name, document in documents(root)
             if (parts := made_from_uncommitted(document))}
    for name, parts in dirty.items():
        if name not in listed:
            found.append(f"{name}: was made from uncommitted code ({', '.join(parts)}); commit the code, "
                         "and make it again")
    for name, reason in listed.items():
        if name not in dirty:
            found.append(f"{LIST}: {name} is no exception any more; take it out")
        elif not reason:
            found.append(f"{LIST}: {name} has no reason")
    return found


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = faults(root)
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
