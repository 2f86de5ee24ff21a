#!/usr/bin/env python3
"""scripts/source_hashes.py gives what the program gives, and the migration of rows refuses what it
must. Usage: source_hashes_test.py PROGRAM SOURCE_FOLDER. Needs git."""

import contextlib
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCES = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, str(SOURCES / "scripts"))
import migrate_source_hashes as script  # noqa: E402
import source_hashes  # noqa: E402

NASTY = rb'''#  include  <cuda_fp16.h>  // it's one
#include "linear_recurrence/params.h"
/* a comment \
*/ #define F(x) \
  "a \" // b" 'c' '"' 1'000 0x1p-3 1.5e+7f R"(// "
\
)" u8"d" L'e' LR"x(y)")x" fooR"g"
#error don't /* over
lines */ stop
a+ ++b<<<c>>>d->*e<=>f ... .5 ..\
. %:   \x41 @ ` $name \xc3\xa9
"linear_recurrence/params.h" "linear_recurrence/" "linear_recurrence" "open
'open
/* never closed'''


def told_by_program(*options):
    told = subprocess.run([PROGRAM, "info", "--source-hashes", *options], check=True,
                          capture_output=True)
    return json.loads(told.stdout)


def working_tree():
    sources = {}
    for path in SOURCES.rglob("*"):
        name = path.relative_to(SOURCES).as_posix()
        if script.SOURCE.fullmatch(name) and path.is_file():
            sources[name.removeprefix("kernels/")] = path.read_bytes()
    return sources


class BothLanguages(unittest.TestCase):
    def test_agree_on_every_source_and_variant(self):
        told = told_by_program()
        store = source_hashes.Store(working_tree())
        self.assertGreater(len(told["sources"]), 100)
        for path, digits in told["sources"].items():
            self.assertEqual(store.of_source(path), digits, path)
        for variant in told["variants"]:
            self.assertEqual(store.source_hash(tuple(variant["sources"])), variant["source_hash"],
                             variant["variant"])

    def test_agree_on_text_that_is_hard_to_read(self):
        sources = working_tree()
        with tempfile.TemporaryDirectory() as folder:
            for path, text in sources.items():
                if not path.startswith(("reference/", "harness/", "configs/")):
                    place = Path(folder, "kernels", path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(text)
            for number, cut in enumerate(range(1, len(NASTY) + 1)):
                sources[f"nasty{number}.h"] = NASTY[:cut]
                sources[f"tail{number}.h"] = NASTY[cut:]
                Path(folder, "kernels", f"nasty{number}.h").write_bytes(NASTY[:cut])
                Path(folder, "kernels", f"tail{number}.h").write_bytes(NASTY[cut:])
            told = told_by_program("--kernels", os.path.join(folder, "kernels"))["sources"]
        store = source_hashes.Store(sources)
        for path in sources:
            if path.startswith(("nasty", "tail")):
                self.assertEqual(store.of_source(path), told[path], sources[path])


HOST = "int host;\n" * 9  # enough for git to see that a file was moved


class Migration(unittest.TestCase):
    """On a repository of two commits: a kernel that is written, then moved."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.addCleanup(setattr, script, "ROOT", script.ROOT)
        self.addCleanup(setattr, script, "LAST_OF_PATHS", script.LAST_OF_PATHS)
        script.ROOT = self.root
        for cached in (script.store_of, script.renames, script.lists_at, script.hashes_at,
                       script.Migration.outcome):
            cached.cache_clear()
        self.git("init", "-q", "-b", "main")
        kernel = "// the first form\nint work(int x) {\n  return x + 1;\n}\n" + "int filler;\n" * 9
        self.first = self.commit({"kernels/family/old.cuh": kernel,
                                  "kernels/family/old.cpp": HOST + 'Recipe r{"family/old.cuh"};\n'})
        self.commented = self.commit({"kernels/family/old.cuh": kernel + "// one more comment\n"})
        script.LAST_OF_PATHS = self.commented
        self.git("mv", "kernels/family", "kernels/room")
        self.commit({"kernels/room/old.cpp": HOST + 'Recipe r{"room/old.cuh"};\n'})
        listed = ["room/old.cuh", "room/old.cpp"]
        self.today = script.store_of("HEAD").source_hash(tuple(listed))
        told = {"variants": [{"operator": "op", "direction": "forward", "variant": "fast",
                              "backend": "cuda", "sources": listed, "source_hash": self.today}]}
        self.program = self.root / "program"
        self.program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(told)}\nEND\n")
        self.program.chmod(0o755)

    def git(self, *arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", str(self.root), *identity, *arguments], check=True,
                              capture_output=True).stdout.decode().strip()

    def commit(self, texts):
        for path, text in texts.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a step")
        return self.git("rev-parse", "HEAD")

    def old_hash(self, commit):
        return script.store_of(commit).hash_of_paths(("family/old.cuh", "family/old.cpp"))

    def file(self, commit, *values, variant="fast"):
        rows = [{"operator": "op", "direction": "forward", "variant": variant, "backend": "cuda",
                 "reason": '"source_hash": "told"', "source_hash": value} for value in values]
        lines = ",\n".join(json.dumps(row) for row in rows)
        path = self.root / "rows.json"
        path.write_text(f'{{"environment": {{"git_commit": "{commit}"}},\n'
                        f'"records": [\n{lines}\n]}}\n')
        return path

    def migrate(self, path):
        """The values afterwards, and what was said."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            script.migrate_file(script.Migration(str(self.program)), path)
        rows = json.loads(path.read_text())["records"]
        return [row["source_hash"] for row in rows], said.getvalue()

    def test_a_row_of_the_committed_text_gets_the_hash_of_its_code(self):
        path = self.file(self.commented, self.old_hash(self.commented), "")
        before = path.read_text()
        values, said = self.migrate(path)
        self.assertEqual(values, [self.today, ""])
        self.assertIn("1 rows migrated, 1 as they were, 0 refused", said)
        self.assertEqual(path.read_text().replace(self.today, self.old_hash(self.commented)), before)
        once = path.read_bytes()
        _, said = self.migrate(path)
        self.assertEqual(path.read_bytes(), once)
        self.assertIn("0 rows migrated, 2 as they were, 0 refused", said)

    def test_a_row_whose_text_differs_is_refused_by_name(self):
        planted = "0123456789abcdef"
        path = self.file(self.commented, self.old_hash(self.commented), planted)
        values, said = self.migrate(path)
        self.assertEqual(values, [self.today, planted])
        self.assertIn(f"refused 1 rows of fast [cuda] on op forward with {planted}", said)

    def test_a_row_of_another_commit_than_its_file_names_is_refused(self):
        path = self.file(self.first, self.old_hash(self.commented))
        values, said = self.migrate(path)
        self.assertEqual(values, [self.old_hash(self.commented)])
        self.assertIn("have another hash", said)

    def test_a_row_that_was_stale_does_not_become_fresh(self):
        path = self.file(self.first, self.old_hash(self.first))
        values, said = self.migrate(path)
        self.assertEqual(values, [self.old_hash(self.first)])
        self.assertIn("was stale by its files", said)

    def test_a_row_of_older_code_gets_the_hash_of_that_code(self):
        older = self.commit({"kernels/room/old.cuh": "int work(int x) {\n  return x + 2;\n}\n"
                             + "int filler;\n" * 9})
        del older  # HEAD has other code now than the row
        told = self.program.read_text()
        now = script.store_of("main").source_hash(("room/old.cuh", "room/old.cpp"))
        self.assertNotEqual(now, self.today)
        self.program.write_text(told.replace(self.today, now))
        values, _ = self.migrate(self.file(self.commented, self.old_hash(self.commented)))
        self.assertEqual(values, [self.today])

    def test_a_row_of_an_unknown_variant_is_refused(self):
        path = self.file(self.commented, self.old_hash(self.commented), variant="gone")
        values, said = self.migrate(path)
        self.assertEqual(values, [self.old_hash(self.commented)])
        self.assertIn("there is no such variant any more", said)

    def test_a_commit_that_git_does_not_have_ends_it(self):
        path = self.file("0" * 40, self.old_hash(self.commented))
        before = path.read_bytes()
        with self.assertRaises(script.Failure):
            self.migrate(path)
        self.assertEqual(path.read_bytes(), before)

    def test_a_packed_file_keeps_its_header(self):
        path = self.file(self.commented, self.old_hash(self.commented))
        packed = self.root / "rows.json.tar.xz"
        with tarfile.open(packed, "w:xz") as archive:
            archive.add(path, "rows.json")
        before = lzma.decompress(packed.read_bytes())
        with contextlib.redirect_stdout(io.StringIO()):
            script.migrate_file(script.Migration(str(self.program)), packed)
        after = lzma.decompress(packed.read_bytes())
        self.assertEqual(after, before.replace(self.old_hash(self.commented).encode(),
                                               self.today.encode()))

    def test_a_tuned_table_names_its_commit_by_entry(self):
        choice = {"variant": "fast", "source_hash": self.old_hash(self.commented)}
        table = {"backend": "cuda", "environments": [{"git_commit": self.commented}],
                 "entries": [{"bucket": {"operator": "op", "direction": "forward"},
                              "winner": choice, "others": [choice], "environment": 0}]}
        path = self.root / "table.json"
        path.write_text(json.dumps(table))
        with contextlib.redirect_stdout(io.StringIO()):
            script.migrate_file(script.Migration(str(self.program)), path)
        entry = json.loads(path.read_text())["entries"][0]
        self.assertEqual([entry["winner"]["source_hash"], entry["others"][0]["source_hash"]],
                         [self.today] * 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
