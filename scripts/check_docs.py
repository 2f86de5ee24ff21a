#!/usr/bin/env python3
"""Checks what the documents say against the tree and the program.

    check_docs.py --program build/gla-bench            names what is wrong, exit code 1
    check_docs.py --program build/gla-bench --write    also writes the outputs of executed blocks anew

Checked are the lengths of some pages, links, paths in the tree, examples in JSON, and console blocks. An
example with "sweeps" or "policy" must be accepted as a config. In a block that is marked ```console each
command must exist with the options and files that it is given, and docs/commands.md must name each command.
A block that is marked ```console run is executed in a copy of the tree's top level, and its output compared: a
line of "..." stands for any lines, "..." within a line for any text. Nothing that measures may be marked so.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from docs import consoles, examples, pages  # noqa: E402  (the modules lie beside this script)


def check(root, program):
    """Every complaint about the documents below `root`, one line each."""
    texts = pages.read_all(root)
    complaints = pages.too_long(root, texts) + pages.missing(root)
    for path, text in texts.items():
        complaints += pages.dead_links(root, path, text, texts)
        complaints += pages.dead_paths(root, path, text)
    complaints += consoles.unlisted(program, texts)
    return complaints + examples.wrong(program, texts) + consoles.wrong(root, program, texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the gla-bench that the documents describe")
    parser.add_argument("--root", default=Path(__file__).resolve().parent.parent, help="the tree")
    parser.add_argument("--write", action="store_true", help="write executed blocks anew first")
    options = parser.parse_args()
    root, program = Path(options.root).resolve(), Path(options.program).resolve()
    if options.write:
        consoles.write(root, program, pages.read_all(root))
    complaints = check(root, program)
    print("\n".join(complaints) if complaints else "the documents say what is there")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
