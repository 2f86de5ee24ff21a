#!/usr/bin/env python3
"""The checks that say "out of date" do: each passes on the tree as it is, and fails on a copy of what
it reads with one figure changed.

    stale_test.py PROGRAM ROOT
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# What the tables of figures are written into, what they are made of, and the script.
TABLES = ("README.md", "docs/devices.md", "docs/first_look.md", "docs/headline.md", "docs/measured.md", "docs/peers.md",
          "results/h200", "results/h100", "results/measured_over_model.txt", "results/headline_targets.txt",
          "scripts/readme_tables.py", "scripts/tables")
TABLE = "results/tuned/nvidia-h200.json"
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

    def check_tables(self, *documents):
        """Of these alone: all of them together are a test of their own."""
        return self.check("readme_tables.py", "--program", PROGRAM, "--only", *documents)

    def expect_fresh(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def expect_stale(self, result, named):
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(named, result.stdout)

    def test_a_figure_of_the_docs(self):
        self.take(*TABLES)
        self.expect_fresh(self.check_tables("docs/measured.md"))
        self.plant("docs/measured.md", r"<!-- mission: begin -->[^`]*`[^|]*\|[^|]*\|[^|]*\| [0-9.]*([1-9])")
        self.expect_stale(self.check_tables("docs/measured.md"), "docs/measured.md: tables")

    def test_a_figure_of_the_peers(self):
        self.take(*TABLES)
        self.plant("results/h100/peers/attention.json", r'"variant":"sdpa_cudnn".*?"median_ms": ?([1-9])')
        self.expect_stale(self.check_tables("docs/peers.md"), "docs/peers.md: tables")

    def test_a_figure_of_the_records(self):
        self.take(*TABLES)
        self.plant("results/h200/gla.json", r'"copy_gb_per_s": ([1-9])')
        self.expect_stale(self.check_tables("docs/measured.md"), "docs/measured.md: tables")
        self.plant("results/h200/headline.json", r'"copy_gb_per_s": ([1-9])')
        self.expect_stale(self.check_tables("README.md", "docs/headline.md"), "README.md, docs/headline.md: tables")

    def evaluated(self):
        """What the committed table's choices cost on problems that it was not made from."""
        return subprocess.run(
            [PROGRAM, "tune", "--tuned", self.copy / TABLE, "--evaluate",
             ROOT / "results/h200/search/others.json", "--most-median", "5", "--most-worst", "20"],
            capture_output=True, text=True)

    def plant_slow_winners(self):
        """In one operator's entries the slowest candidate that is known stands in the winner's place."""
        table = json.loads((self.copy / TABLE).read_text())
        planted = 0
        for entry in table["entries"]:
            # "nan": of no problem that both were timed on.
            slow = [other for other in entry["others"] if float(other["ratio"]) > 1.5]
            if slow and entry["bucket"]["operator"] == "simple_gla":
                entry["winner"]["variant"] = slow[-1]["variant"]
                entry["winner"]["tile"] = slow[-1]["tile"]
                planted += 1
        (self.copy / TABLE).write_text(json.dumps(table))
        self.assertGreater(planted, 0)

    def test_a_table_that_is_not_of_the_records(self):
        self.take(TABLE)
        check = [ROOT / "scripts/tuned_table.sh", "--check", PROGRAM, self.copy / TABLE]
        self.expect_fresh(subprocess.run(check, capture_output=True, text=True))
        self.plant_slow_winners()
        self.expect_stale(subprocess.run(check, capture_output=True, text=True), "is not of the records")

    def test_a_table_whose_choices_are_slow(self):
        self.take(TABLE)
        self.expect_fresh(self.evaluated())
        self.plant_slow_winners()
        result = self.evaluated()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertRegex(result.stdout + result.stderr, r"worst [0-9]{2,} %")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
