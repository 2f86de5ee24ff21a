#!/usr/bin/env python3
"""Committed results files come from committed code: the check holds, and fails on planted faults.

    commits_test.py ROOT
"""

import io
import json
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()


def check(root):
    return subprocess.run([sys.executable, ROOT / "scripts/check_commits.py", root],
                          capture_output=True, text=True)


class Commits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "results/gpu/search").mkdir(parents=True)

    def write(self, name, dirty, extended=()):
        document = {"environment": {"git_dirty": dirty}, "records": [],
                    "extended": [{"started": f"day {i}", "git_dirty": one}
                                 for i, one in enumerate(extended)]}
        (self.root / name).write_text(json.dumps(document))

    def except_(self, text):
        (self.root / "results/uncommitted.txt").write_text(text)

    def expect(self, *faults):
        done = check(self.root)
        self.assertEqual(done.returncode, 1 if faults else 0, done.stdout + done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), len(faults), done.stdout)
        for fault in faults:
            self.assertIn(fault, done.stdout)

    def test_the_tree_as_it_is(self):
        done = check(ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_clean_files_pass(self):
        self.write("results/gpu/a.json", False, [False])
        self.write("results/gpu/search/b.json", "false")
        self.expect()

    def test_a_first_run_an_extension_and_a_packed_file_are_found(self):
        self.write("results/gpu/a.json", True)
        self.write("results/gpu/search/b.json", False, [False, True])
        packed = json.dumps({"environment": {"git_dirty": "true"}, "records": []}).encode()
        with tarfile.open(self.root / "results/gpu/c.json.tar.xz", "w:xz") as archive:
            member = tarfile.TarInfo("c.json")
            member.size = len(packed)
            archive.addfile(member, io.BytesIO(packed))
        self.expect("results/gpu/a.json: was made from uncommitted code (the first run)",
                    "results/gpu/search/b.json: was made from uncommitted code (extended day 1)",
                    "results/gpu/c.json.tar.xz/c.json: was made")

    def test_an_exception_has_a_reason_and_is_still_one(self):
        self.write("results/gpu/a.json", True)
        self.write("results/gpu/b.json", False)
        self.except_("# why\nresults/gpu/a.json: older than the check\n")
        self.expect()
        self.except_("results/gpu/a.json: \n")
        self.expect("results/gpu/a.json has no reason")
        self.except_("results/gpu/a.json: old\nresults/gpu/b.json: old\nresults/gone.json: old\n")
        self.expect("results/gpu/b.json is no exception any more",
                    "results/gone.json is no exception any more")


class GitVersion(unittest.TestCase):
    """cmake/GitVersion.cmake says which commit a program was built from, and whether its code has changes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("core/a.cpp", "results/gpu/a.json", "results/tuned/a.json", "docs/a.md"):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text("as committed")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "first")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def dirty(self):
        output = self.root.with_suffix(".cpp")
        self.addCleanup(output.unlink, missing_ok=True)
        subprocess.run(["cmake", "-DGLA_BENCH_GIT_SCRIPT=ON", f"-DSOURCE_DIR={self.root}", f"-DOUTPUT={output}",
                        "-P", ROOT / "cmake/GitVersion.cmake"], check=True, capture_output=True)
        text = output.read_text()
        self.assertIn(self.git("rev-parse", "HEAD").strip(), text)
        return "git_dirty() { return true; }" in text

    def test_changed_code_is_told(self):
        self.assertFalse(self.dirty())
        (self.root / "core/b.cpp").write_text("new")
        self.assertTrue(self.dirty())

    def test_what_auto_goes_by_is_told(self):
        (self.root / "results/tuned/a.json").write_text("fitted anew")
        self.assertTrue(self.dirty())

    def test_records_and_documents_are_no_code(self):
        (self.root / "results/gpu/a.json").write_text("as measured")
        (self.root / "results/gpu/b.json").write_text("new")
        (self.root / "docs/a.md").write_text("as told")
        self.assertFalse(self.dirty())
        (self.root / "core/a.cpp").write_text("changed")
        self.assertTrue(self.dirty())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
