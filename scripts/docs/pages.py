"""Lengths, links and paths of the markdown pages of a tree."""

import os
import re

# Lines, and characters of a line, that a page may have.
LIMITS = {"README.md": (150, 110), "docs/design.md": (200, 110)}
ROOM_LIMIT = (15, 110)
SHOWN = 5  # lines of a page that are named
# Folders beside the rooms that have a page of their own, and may be longer than a room's.
FOLDERS = ["configs", "docs", "fuzz", "page", "results", "scripts", "tests"]
# A path in backticks that begins with one of these is one of the tree.
TOP = "cmake|configs|core|docs|fuzz|harness|kernels|page|reference|results|scripts|tests"
LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
TREE_PATH = re.compile(rf"`((?:{TOP})/[\w./*-]+)`")
FENCE = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)


def read_all(root):
    """The text of every markdown page, by its path from `root`; build folders and hidden ones left out."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build", "cmake-build")))
        for name in sorted(files):
            if name.endswith(".md"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, root)] = file.read()
    return found


def rooms(root):
    """The folders of cmake/rooms.txt, and those of the families of kernels."""
    lines = (root / "cmake/rooms.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    families = {path.parent.relative_to(root).as_posix() for path in root.glob("kernels/*/family.cpp")}
    return listed + sorted(families)


def missing(root):
    return [f"{folder}: has no README.md" for folder in rooms(root) + FOLDERS
            if not (root / folder / "README.md").is_file()]


def too_long(root, texts):
    limits = {**{f"{room}/README.md": ROOM_LIMIT for room in rooms(root)}, **LIMITS}
    complaints = []
    for path, (most_lines, most_columns) in limits.items():
        lines = texts.get(path, "").splitlines()
        if len(lines) > most_lines:
            complaints.append(f"{path}: {len(lines)} lines, at most {most_lines} are allowed")
        long_lines = [number for number, line in enumerate(lines, 1) if len(line) > most_columns]
        complaints += [f"{path}:{number}: more than {most_columns} characters"
                       for number in long_lines[:SHOWN]]
        if len(long_lines) > SHOWN:
            complaints.append(f"{path}: {len(long_lines) - SHOWN} further lines are too long")
    return complaints


def anchors(text):
    """The names by which a page's headings can be linked to."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(root, path, text, texts):
    """Links of a page to files or headings that are not there. Addresses of the web are not looked at."""
    complaints = []
    for link in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not (root / target).exists():
            complaints.append(f"{path}: links to {link}, which is not there")
        elif anchor and target in texts and anchor not in anchors(texts[target]):
            complaints.append(f"{path}: links to {link}, but {target} has no such heading")
    return complaints


def dead_paths(root, path, text):
    """Paths of the tree that a page names in backticks and that are not there. The changelog tells of
    what was, so that it is not asked."""
    if path == "CHANGELOG.md":
        return []
    return [f"{path}: names `{name}`, which is not there"
            for name in TREE_PATH.findall(FENCE.sub("", text)) if not any(root.glob(name))]
