#!/usr/bin/env python3
"""Holds the source tree to its plan: rooms, the order in which they may include each other, sizes.

  scripts/rooms.py --check          names everything that breaks the plan; exit code 1 if anything does
  scripts/rooms.py --draw           draws docs/figures/rooms.svg from the includes
  scripts/rooms.py --root DIR ...   another tree

The plan is cmake/rooms.txt: one room a line, from the ground floor up. A source may include files of its
own room and of the rooms before it in that list. The limits on sizes stand below.
"""

import argparse
import re
import sys
from html import escape
from pathlib import Path

MOST_LINES = 400          # of one source
MOST_FILES = 30           # directly in one folder
MOST_ENTRIES = 22         # at the top of harness/
MOST_README_LINES = 15    # of a room's README

TOP = "harness/main.cpp"  # above all rooms
PICTURE = "docs/figures/rooms.svg"
SOURCE_FOLDERS = ("core", "harness", "kernels", "reference")
SOURCES = {".cpp", ".hpp", ".h", ".cuh"}
COUNTED = SOURCES | {".py", ".js", ".css", ".sh", ".cmake"}
COUNTED_FOLDERS = (*SOURCE_FOLDERS, "tests", "fuzz", "page", "scripts", "cmake")
# Used by nearly every room: arrows to them would hide the others.
EVERYWHERE = {"core", "harness/support"}


def read_rooms(root):
    """The rooms from the ground floor up, as paths from the root."""
    lines = (root / "cmake/rooms.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def room_of(path, rooms):
    """The room that a path lies in, or None."""
    return next((room for room in rooms if path.startswith(room + "/")), None)


def quoted_includes(text):
    """Line number and name of each #include "..." of a source."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def resolve(root, name):
    """The file that an include names: from the root, or from kernels/ as the run-time compiler sees it."""
    for path in (name, "kernels/" + name):
        if (root / path).is_file():
            return path
    return None


def sources(root):
    """Paths of all sources in the folders that rooms lie in."""
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                yield path.relative_to(root).as_posix()


def arrows(root, rooms):
    """Every include that leaves its room: (source, line number, included file)."""
    for source in sources(root):
        text = (root / source).read_text()
        for number, name in quoted_includes(text):
            target = resolve(root, name)
            if target is not None and room_of(target, rooms) != room_of(source, rooms):
                yield source, number, target


def back_arrows(root, rooms):
    """A sentence for each include that points to a room further up, or to no room."""
    place = {room: at for at, room in enumerate(rooms)}
    for source, number, target in arrows(root, rooms):
        here, there = room_of(source, rooms), room_of(target, rooms)
        if source == TOP:
            continue
        if there is None:
            yield f"{source}:{number} includes {target}, which lies in no room"
        elif here is not None and place[there] > place[here]:
            yield (f"{source}:{number} includes {target}: {here} comes before {there} in "
                   "cmake/rooms.txt, so it may not know it")


def strays(root, rooms):
    """A sentence for each source that lies in no room, and each room without a folder."""
    for room in rooms:
        if not (root / room).is_dir():
            yield f"cmake/rooms.txt: there is no folder {room}"
    for source in sources(root):
        if source != TOP and room_of(source, rooms) is None:
            yield f"{source} lies in no room of cmake/rooms.txt"


def tracked(root):
    """All files of the folders whose sizes are limited, but what a tool left behind."""
    for folder in COUNTED_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(root)


def sizes(root):
    """A sentence for each source, folder and top floor that has grown too large."""
    files = {}
    for path in tracked(root):
        if path.parts[:2] != ("fuzz", "corpus"):
            files.setdefault(path.parent.as_posix(), []).append(path.name)
        if path.suffix in COUNTED:
            lines = (root / path).read_text().count("\n")
            if lines > MOST_LINES:
                yield f"{path} has {lines} lines, and {MOST_LINES} are the most"
    for folder, names in files.items():
        if len(names) > MOST_FILES:
            yield f"{folder} has {len(names)} files, and {MOST_FILES} are the most"
    entries = len(list((root / "harness").iterdir()))
    if entries > MOST_ENTRIES:
        yield f"harness has {entries} entries, and {MOST_ENTRIES} are the most"


def doors(root, rooms):
    """A sentence for each room that does not say what it is for."""
    for room in rooms:
        readme = root / room / "README.md"
        if not readme.is_file():
            yield f"{room} has no README.md"
        elif (lines := readme.read_text().count("\n")) > MOST_README_LINES:
            yield f"{room}/README.md has {lines} lines, and {MOST_README_LINES} are the most"


def purpose(root, room):
    """The first sentence of a room's README below its title."""
    readme = root / room / "README.md"
    if not readme.is_file():
        return ""
    body = " ".join(line for line in readme.read_text().splitlines() if not line.startswith("#"))
    sentence = re.split(r"(?<=[.:])\s", body.strip(), maxsplit=1)[0]
    return re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", sentence).rstrip(":")


def draw(root, rooms):
    """The rooms as floors of a house, with an arc from each room to those that it includes."""
    used = {}
    for source, _, target in arrows(root, rooms):
        here, there = room_of(source, rooms), room_of(target, rooms)
        if here and there and there not in EVERYWHERE:
            used.setdefault(here, set()).add(there)
    floor, left, width = 44, 20, 640
    middle = {room: 60 + (len(rooms) - 1 - at) * floor for at, room in enumerate(rooms)}
    height = 60 + len(rooms) * floor
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" font-family="sans-serif">',
        "<!-- Written by scripts/rooms.py --draw out of cmake/rooms.txt and the includes. -->",
        "<style>text{fill:#24292f}.purpose{fill:#57606a}.room{fill:#f6f8fa;stroke:#d0d7de}"
        ".arc{fill:none;stroke:#0969da;stroke-opacity:.45;stroke-width:1.5}.end{fill:#0969da}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.purpose{fill:#9198a1}"
        ".room{fill:#161b22;stroke:#3d444d}.arc{stroke:#4493f8}.end{fill:#4493f8}}</style>",
        '<text class="purpose" x="20" y="24" font-size="14">A room includes only rooms below it. '
        "Arcs lead from a room down to those that it includes;</text>",
        '<text class="purpose" x="20" y="42" font-size="14" dy="-2">core and harness/support, which '
        "nearly all of them include, are left out.</text>",
    ]
    for room in rooms:
        y = middle[room]
        parts.append(f'<rect class="room" x="{left}" y="{y - 8}" width="{width}" height="36" rx="6"/>')
        parts.append(f'<text x="{left + 12}" y="{y + 15}" font-size="15" font-weight="600">'
                     f"{escape(room)}</text>")
        parts.append(f'<text class="purpose" x="{left + 182}" y="{y + 15}" font-size="12">'
                     f"{escape(purpose(root, room)[:78])}</text>")
    edge = left + width
    for room, targets in sorted(used.items(), key=lambda item: rooms.index(item[0])):
        for target in sorted(targets, key=rooms.index):
            top, bottom = middle[room] + 16, middle[target] + 4
            reach = edge + 30 + 14 * (rooms.index(room) - rooms.index(target))
            parts.append(f'<path class="arc" d="M{edge} {top} C{reach} {top} {reach} {bottom} '
                         f'{edge} {bottom}"><title>{escape(room)} includes {escape(target)}'
                         "</title></path>")
            parts.append(f'<path class="end" d="M{edge} {bottom}l8 -4v8z"/>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def stale_picture(root, rooms):
    """A sentence where the committed picture is not what the includes say now."""
    picture = root / PICTURE
    if not picture.is_file() or picture.read_text() != draw(root, rooms):
        yield f"{PICTURE} is out of date: scripts/rooms.py --draw"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent,
                        help="the source tree (default: the one that this script lies in)")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="name everything that breaks the plan")
    what.add_argument("--draw", action="store_true", help=f"write {PICTURE}")
    arguments = parser.parse_args()
    root = arguments.root
    rooms = read_rooms(root)
    if arguments.draw:
        (root / PICTURE).write_text(draw(root, rooms))
        return 0
    found = [*strays(root, rooms), *back_arrows(root, rooms), *sizes(root), *doors(root, rooms),
             *stale_picture(root, rooms)]
    for sentence in found:
        print(sentence)
    count = sum(1 for _ in arrows(root, rooms))
    print(f"{len(rooms)} rooms, {count} includes from room to room, {len(found)} against the plan")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
