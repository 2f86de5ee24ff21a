#!/usr/bin/env python3
"""Gives committed rows the hash of their code in place of the hash of their files.

    migrate_source_hashes.py PROGRAM [FILE...]     default: every file below results/ that has rows

Until commit LAST_OF_PATHS a row's "source_hash" was over the paths and bytes of its sources, and
every move of a file changed it. It is over their code now (harness/backends/sources), which a move
leaves as it is. For each row this script reads, with git, the sources at the commits that its file
names, and computes the old hash of the row's variant there. Only where it is what stands in the row
does the row get the new hash of that very text. A row is refused by name, and stays stale, where

- no commit that its file names has sources with its hash: its code was never committed, or
- its code is today's code, yet it was stale before. A migration must not make anything fresh.

In a file nothing but the 16 digits changes. A second run changes nothing. Exit code: 0, or 2 for a
file that cannot be read or a commit that git does not have. PROGRAM is asked for the variants and
their sources (`info --source-hashes`). Needs Python 3 and a clone with its whole history.
"""

import argparse
import collections
import functools
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from source_hashes import Store

ROOT = Path(__file__).resolve().parent.parent
LAST_OF_PATHS = "6f52598b35bca9df5723b536a4a0cfce993ddf8d"
SOURCE = re.compile(r"kernels/.*\.(cuh|h|hpp|cpp)|(reference|harness)/.*\.(cuh|h)|"
                    r"configs/(tolerance|schema/.*)\.json")
VALUE = re.compile(r'"source_hash"\s*:\s*"([^"\\]*)"')


class Failure(Exception):
    """What ends the script with exit code 2."""


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    if done.returncode != 0:
        raise Failure(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


@functools.lru_cache(maxsize=None)
def store_of(commit):
    """The sources of a commit, as the program of that commit had them inside."""
    sources = {}
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
        for member in archive:
            if member.isfile() and SOURCE.fullmatch(member.name):
                sources[member.name.removeprefix("kernels/")] = archive.extractfile(member).read()
    return Store(sources)


@functools.lru_cache(maxsize=None)
def renames(older, newer):
    """{path in the newer commit: path in the older one}, as the store spells them."""
    fields = git("diff", "-M30%", "-l0", "--diff-filter=R", "--name-status", "-z", older,
                 newer, "--", "kernels", "reference", "harness").decode().split("\0")
    stored = [field.removeprefix("kernels/") for field in fields]
    return {stored[at + 2]: stored[at + 1] for at in range(0, len(stored) - 2, 3)}


def paths_at(commit, listed):
    """Where sources that HEAD has lay at a commit; None for one that was not there yet."""
    before = [renames(LAST_OF_PATHS, "HEAD").get(path, path) for path in listed]
    store = store_of(commit)
    return [path if path in store.sources else renames(commit, LAST_OF_PATHS).get(path)
            for path in before]


@functools.lru_cache(maxsize=None)
def lists_at(commit, listed):
    """The lists of sources that a variant may have had at a commit: where today's list lay, and
    today's first source's neighbours that a .cpp of that list named itself."""
    store = store_of(commit)
    mapped = [path for path in paths_at(commit, listed) if path in store.sources]
    lists = [tuple(mapped)]
    for path in mapped:
        if path.endswith(".cpp"):
            named = sorted(literal for literal in store.literals(path) if literal in store.sources)
            lists.append(tuple(named))
            lists.append(tuple(sorted(set(mapped) | set(named))))
    return [paths for paths in dict.fromkeys(lists) if paths]


@functools.lru_cache(maxsize=None)
def hashes_at(commit, paths):
    """(old hash, new hash) of a list of sources at a commit."""
    store = store_of(commit)
    return store.hash_of_paths(paths), store.source_hash(paths)


Row = collections.namedtuple("Row", "start value identity commits")


def problem_of(node):
    return (node["operator"], node["direction"])


def rows_of_records(document):
    """(identity, commits, value) of each source_hash of a results file, in its order."""
    environment = document.get("environment", {})
    commits = [environment.get("git_commit")]
    commits += [extension["git_commit"] for extension in document.get("extended", [])]
    for record in document["records"]:
        identity = (*problem_of(record), record["variant"], record["backend"])
        for key, value in record.items():
            if key == "source_hash":
                yield identity, tuple(filter(None, commits)), value
            elif key == "against" and value:
                other = environment.get("against_git_commit")
                yield identity, tuple(filter(None, [other])), value["source_hash"]


def choices_of(node):
    """The choices of a tuned table's entry, in the file's order."""
    if isinstance(node, list):
        for element in node:
            yield from choices_of(element)
    elif isinstance(node, dict):
        if "source_hash" in node:
            yield node
        for value in node.values():
            yield from choices_of(value)


def rows_of_table(document):
    for entry in document["entries"]:
        commit = document["environments"][entry["environment"]]["git_commit"]
        for choice in choices_of(entry):
            identity = (*problem_of(entry["bucket"]), choice["variant"], document["backend"])
            yield identity, (commit,), choice["source_hash"]


def rows_of(text, name):
    document = json.loads(text)
    if "records" in document:
        listed = list(rows_of_records(document))
    elif "entries" in document:
        listed = list(rows_of_table(document))
    else:
        raise Failure(f"{name}: expected a results file or a tuned table")
    found = list(VALUE.finditer(text))
    if [match[1] for match in found] != [value for _, _, value in listed]:
        raise Failure(f"{name}: has a source_hash where no row has one")
    return [Row(match.start(1), value, identity, commits)
            for match, (identity, commits, value) in zip(found, listed)]


class Migration:
    def __init__(self, program):
        told = json.loads(subprocess.run([program, "info", "--source-hashes"], check=True,
                                         capture_output=True).stdout)
        self.variants = {}
        for variant in told["variants"]:
            identity = (variant["operator"], variant["direction"], variant["variant"],
                        variant["backend"])
            self.variants[identity] = (tuple(variant["sources"]), variant["source_hash"])

    @functools.lru_cache(maxsize=None)
    def outcome(self, identity, commits, value):
        """("new", hash), ("kept", "") where there is nothing to do, or ("refused", why)."""
        if not value:
            return "kept", ""
        if identity not in self.variants:
            return "refused", "there is no such variant any more"
        listed, today = self.variants[identity]
        for commit in commits:
            for paths in lists_at(commit, listed):
                old, new = hashes_at(commit, paths)
                if value == new:
                    return "kept", ""
                if value != old:
                    continue
                if new == today and value != self.last_of_paths(listed):
                    return "refused", "was stale by its files, though its code is today's"
                return "new", new
        return "refused", ("the sources of " + ", ".join(commit[:10] for commit in commits) +
                           " have another hash")

    @staticmethod
    def last_of_paths(listed):
        paths = paths_at(LAST_OF_PATHS, listed)
        return None if None in paths else hashes_at(LAST_OF_PATHS, tuple(paths))[0]

    def migrate(self, text, name):
        """The text with new hashes, and how many rows had which outcome."""
        pieces, at, counts, refused = [], 0, collections.Counter(), collections.Counter()
        for row in rows_of(text, name):
            outcome, detail = self.outcome(row.identity, row.commits, row.value)
            counts[outcome] += 1
            if outcome == "new":
                pieces += [text[at:row.start], detail]
                at = row.start + len(row.value)
            elif outcome == "refused":
                refused[(*row.identity, row.value, detail)] += 1
        for (operator, direction, variant, backend, value, why), rows in sorted(refused.items()):
            print(f"{name}: refused {rows} rows of {variant} [{backend}] on {operator} "
                  f"{direction} with {value}: {why}")
        print(f"{name}: {counts['new']} rows migrated, {counts['kept']} as they were, "
              f"{counts['refused']} refused")
        return "".join(pieces) + text[at:]


def migrate_file(migration, path):
    if path.name.endswith(".json.tar.xz"):
        return migrate_packed(migration, path)
    before = path.read_bytes().decode()
    after = migration.migrate(before, str(path))
    if after != before:
        path.write_bytes(after.encode())


def migrate_packed(migration, path):
    """One file in a tar in xz: the same header, the text of the same length."""
    tar = lzma.decompress(path.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        members = archive.getmembers()
        if len(members) != 1:
            raise Failure(f"{path}: expected one packed file, found {len(members)}")
        start = members[0].offset_data
        before = tar[start:start + members[0].size].decode()
    after = migration.migrate(before, f"{path}:{members[0].name}").encode()
    if len(after) != members[0].size:
        raise Failure(f"{path}: the text has another length")
    if after != before.encode():
        packed = lzma.compress(tar[:start] + after + tar[start + len(after):],
                               check=lzma.CHECK_CRC64, preset=9 | lzma.PRESET_EXTREME)
        path.write_bytes(packed)


def committed_files():
    """Everything below results/ that holds rows."""
    names = git("ls-files", "results").decode().splitlines()
    return [ROOT / name for name in names if name.endswith((".json", ".json.tar.xz"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    try:
        migration = Migration(arguments.program)
        for path in arguments.files or committed_files():
            migrate_file(migration, path)
    except (Failure, OSError, ValueError, KeyError) as error:
        print(f"migrate_source_hashes.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
