#!/usr/bin/env python3
"""The checks that say "out of date" do: each passes on the tree as it is, and fails on a copy of what
it reads with one figure changed.

    stale_test.py PROGRAM ROOT
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()


def changed(text, pattern):
    """The text with the first digit of the first match of the pattern's group made another one."""
    at = re.search(pattern, text).start(1)
    return text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1:]


class Stale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name)

    def take(self, *paths):
        for path in paths:
            target = self.copy / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / path).is_dir() else shutil.copy)(ROOT / path, target)

    def plant(self, path, pattern):
        file = self.copy / path
        file.write_text(changed(file.read_text(), pattern))

    def check(self, script, *arguments):
        return subprocess.run([sys.executable, self.copy / "scripts" / script, *arguments, "--check"],
                              capture_output=True, text=True)

    def expect_fresh(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def expect_stale(self, result, named):
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(named, result.stdout)

    def test_a_figure_of_the_docs(self):
        self.take("README.md", "docs/measured.md", "results/h200", "results/measured_over_model.txt",
                  "results/headline_targets.txt", "scripts/readme_tables.py")
        self.expect_fresh(self.check("readme_tables.py"))
        self.plant("docs/measured.md", r"<!-- mission: begin -->[^`]*`[^|]*\|[^|]*\|[^|]*\| [0-9.]*([1-9])")
        self.expect_stale(self.check("readme_tables.py"), "docs/measured.md: tables")

    def test_a_figure_of_the_records(self):
        self.take("README.md", "docs/measured.md", "results/h200", "results/measured_over_model.txt",
                  "results/headline_targets.txt", "scripts/readme_tables.py")
        self.plant("results/h200/gla.json", r'"copy_gb_per_s": ([1-9])')
        self.expect_stale(self.check("readme_tables.py"), "docs/measured.md: tables")

    def test_an_extent_of_the_schema(self):
        self.take("configs/schema", "scripts/update_schema.py")
        self.expect_fresh(self.check("update_schema.py", PROGRAM))
        self.plant("configs/schema/config.schema.json", r'"sweep_of_gla"[^\0]*?"maximum": ([1-9])')
        self.expect_stale(self.check("update_schema.py", PROGRAM), "config.schema.json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
