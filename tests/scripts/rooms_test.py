#!/usr/bin/env python3
"""Plants one fault after another in a small tree and asks scripts/rooms.py to name it.

  rooms_test.py ROOT     ROOT: the source tree whose scripts/rooms.py is tested
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop()).resolve()
SCRIPT = ROOT / "scripts/rooms.py"


class Rooms(unittest.TestCase):
    """Each test starts from a tree of three rooms in which nothing is wrong."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        self.write("cmake/rooms.txt", "# From the ground floor up.\ncore\nharness/low\nharness/high\n")
        for room in ("core", "harness/low", "harness/high"):
            self.write(f"{room}/README.md", f"# {room}\nWhat {room} is for. More.\n")
        self.write("core/problem.hpp", "#pragma once\n")
        self.write("harness/low/parse.hpp", '#pragma once\n#include "core/problem.hpp"\n')
        self.write("harness/high/report.hpp", '#pragma once\n#include "harness/low/parse.hpp"\n')
        self.write("harness/main.cpp", '#include "harness/high/report.hpp"\n')
        (self.tree / "docs/figures").mkdir(parents=True)
        self.assertEqual(self.run_script("--draw").returncode, 0)

    def write(self, path, text):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "--root", self.tree, *arguments],
                              capture_output=True, text=True, check=False)

    def assert_named(self, sentence):
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(sentence, done.stdout)

    def test_nothing_is_said_of_a_tree_in_order(self):
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 rooms, 3 includes from room to room, 0 against the plan", done.stdout)

    def test_an_include_that_points_back_is_named_with_its_line(self):
        self.write("harness/low/parse.cpp",
                   '#include "harness/low/parse.hpp"\n\n#include "harness/high/report.hpp"\n')
        self.assert_named("harness/low/parse.cpp:3 includes harness/high/report.hpp: "
                          "harness/low comes before harness/high")

    def test_the_order_is_that_of_the_list(self):
        self.write("cmake/rooms.txt", "core\nharness/high\nharness/low\n")
        self.assert_named("harness/high/report.hpp:2 includes harness/low/parse.hpp")

    def test_kernels_may_name_files_from_their_own_folder(self):
        self.write("cmake/rooms.txt", "core\nkernels\nharness/low\nharness/high\n")
        self.write("kernels/README.md", "# kernels\nKernels.\n")
        self.write("kernels/family/params.h", '#include "harness/low/parse.hpp"\n')
        self.write("kernels/family/kernel.cuh", '#include "family/params.h"\n')
        self.assert_named("kernels/family/params.h:1 includes harness/low/parse.hpp")

    def test_a_source_outside_all_rooms_is_named(self):
        self.write("harness/loose.cpp", "")
        self.assert_named("harness/loose.cpp lies in no room")

    def test_an_include_of_a_source_outside_all_rooms_is_named(self):
        self.write("harness/loose.hpp", "")
        self.write("harness/high/report.hpp", '#include "harness/loose.hpp"\n')
        self.assert_named("harness/high/report.hpp:1 includes harness/loose.hpp, which lies in no room")

    def test_a_room_without_a_folder_is_named(self):
        self.write("cmake/rooms.txt", "core\nharness/low\nharness/high\nharness/attic\n")
        self.assert_named("there is no folder harness/attic")

    def test_a_long_source_is_named(self):
        self.write("harness/low/parse.cpp", "\n" * 401)
        self.assert_named("harness/low/parse.cpp has 401 lines")

    def test_a_full_folder_is_named(self):
        for number in range(30):
            self.write(f"harness/low/part{number}.hpp", "#pragma once\n")
        self.assert_named("harness/low has 32 files")

    def test_a_crowded_top_is_named(self):
        for number in range(22):
            (self.tree / f"harness/room{number}").mkdir()
        self.assert_named("harness has 25 entries")

    def test_a_room_without_readme_and_one_with_a_long_one_are_named(self):
        (self.tree / "core/README.md").unlink()
        self.write("harness/low/README.md", "A line.\n" * 16)
        self.assert_named("core has no README.md")
        self.assert_named("harness/low/README.md has 16 lines")

    def test_a_picture_of_other_includes_is_named(self):
        self.write("cmake/rooms.txt", "core\nharness/low\nharness/middle\nharness/high\n")
        self.write("harness/middle/README.md", "# middle\nBetween.\n")
        self.assert_named("docs/figures/rooms.svg is out of date")
        self.assertEqual(self.run_script("--draw").returncode, 0)
        self.assertEqual(self.run_script("--check").returncode, 0)


if __name__ == "__main__":
    unittest.main()
