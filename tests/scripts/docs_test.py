#!/usr/bin/env python3
"""scripts/check_docs.py finds what it is there to find: a small tree without a fault passes, and the same
with one fault planted fails with a complaint that names it.

    docs_test.py PROGRAM ROOT
"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
import check_docs  # noqa: E402  (it lies in the tree that is tested)
PAGE = """# Page

[the README](../README.md#a-heading), `configs/quick.json`, `configs/*.json`

```console
$ gla-bench run configs/quick.json -o out.json --force
$ gla-bench report results/h200/*.json --best | head
$ gla-bench repeat run.json#3 --verify && echo done
```

```console run
$ gla-bench gate nothing.json; \\
    echo "exit code $?"
...
exit code 2
$ echo one; echo two three
one
two ...
```

```sh
scripts/tool.sh
```

```json
{ "sweeps": [ { "operator": "softmax", "variants": "all", "dtypes": ["float32"],
                "shapes": [ { "batch": 1, "columns": 8 } ] } ] }
```

```json
"policy": { "limits": { "factor": 10 } }
```
"""


class Docs(unittest.TestCase):
    """Each test runs the script on a tree of its own making."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        files = {"README.md": "# Title\n\n## A heading\n\n[page](docs/page.md)\n", "docs/page.md": PAGE,
                 "docs/design.md": "# Design\n", "cmake/rooms.txt": "# order\ncore\nkernels\n",
                 "kernels/family/family.cpp": "", "configs/quick.json": "{}", "scripts/tool.sh": "",
                 "results/h200/a.json": "{}"}
        for folder in ("core", "kernels", "kernels/family", "configs", "docs", "fuzz", "page", "results",
                       "scripts", "tests"):
            files[f"{folder}/README.md"] = f"# {folder}\n"
        for path, text in files.items():
            self.put(path, text)

    def put(self, path, text):
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text)

    def edit(self, path, old, new):
        text = (self.tree / path).read_text()
        self.assertIn(old, text)
        self.put(path, text.replace(old, new, 1))

    def script(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "scripts/check_docs.py", "--program", PROGRAM,
                               "--root", self.tree, *arguments], capture_output=True, text=True)

    def expect(self, complaint):
        """Exactly one complaint, and it is this one."""
        found = check_docs.check(self.tree, PROGRAM)
        self.assertEqual(len(found), 1, found)
        self.assertIn(complaint, found[0])

    def test_a_tree_without_a_fault_passes(self):
        self.assertEqual(check_docs.check(self.tree, PROGRAM), [])

    def test_the_lengths_of_pages(self):
        self.put("README.md", "# Title\n\n## A heading\n" + "line\n" * 148)
        self.expect("README.md: 151 lines, at most 150")
        self.put("README.md", "# Title\n\n## A heading\n" + "x" * 111 + "\n")
        self.expect("README.md:4: more than 110 characters")
        self.put("README.md", "# Title\n\n## A heading\n")
        self.put("docs/design.md", "line\n" * 201)
        self.expect("docs/design.md: 201 lines, at most 200")
        self.put("docs/design.md", "line\n")
        self.put("kernels/family/README.md", "line\n" * 16)
        self.expect("kernels/family/README.md: 16 lines, at most 15")

    def test_a_room_without_a_readme(self):
        (self.tree / "core/README.md").unlink()
        self.expect("core: has no README.md")

    def test_dead_links_and_paths(self):
        self.edit("README.md", "docs/page.md", "docs/pages.md")
        self.expect("README.md: links to docs/pages.md, which is not there")
        self.edit("README.md", "docs/pages.md", "docs/page.md")
        self.edit("README.md", "A heading", "Another heading")
        self.expect("docs/page.md: links to ../README.md#a-heading, but README.md has no such heading")
        self.edit("README.md", "Another heading", "A heading")
        self.edit("docs/page.md", "`configs/quick.json`", "`configs/quicker.json`")
        self.expect("docs/page.md: names `configs/quicker.json`, which is not there")

    def test_commands_that_the_page_of_commands_leaves_out(self):
        shutil.copy(ROOT / "docs/commands.md", self.tree / "docs/commands.md")
        self.edit("docs/commands.md", "| `renew ", "| renew ")
        found = check_docs.check(self.tree, PROGRAM)  # its links lead out of this small tree
        self.assertIn("docs/commands.md: does not name the command renew", found)
        self.assertEqual(sum("does not name the command" in line for line in found), 1)

    def test_commands_options_and_files_that_are_not_there(self):
        for old, new, complaint in (
                ("gla-bench run", "gla-bench walk", "gla-bench has no command walk"),
                ("--force", "--forced", "gla-bench run has no option --forced"),
                ("| head", "--bests | head", "gla-bench report has no option --bests"),
                ("--verify && ", "--verified && ", "gla-bench repeat has no option --verified"),
                ("run configs/quick", "run configs/quicker", "configs/quicker.json is not there"),
                ("h200/*.json", "h200/b*.json", "results/h200/b*.json is not there"),
                ("scripts/tool.sh", "scripts/tools.sh", "scripts/tools.sh is not there"),
                ("$ gla-bench run", "$ gla-bench run 'x", "cannot be read: gla-bench run 'x")):
            with self.subTest(new):
                self.edit("docs/page.md", old, new)
                self.expect(complaint)
                self.put("docs/page.md", PAGE)

    def test_examples_of_configs(self):
        for old, new, complaint in (
                ('"softmax"', '"softmin"', "refuses this config: gla-bench: example.json: /sweeps/0/operator"),
                ('"factor"', '"factors"', "refuses this config: gla-bench: example.json: /policy/limits"),
                ('"columns": 8 }', '"columns": 8', "docs/page.md:25: is not JSON")):
            with self.subTest(new):
                self.edit("docs/page.md", old, new)
                self.expect(complaint)
                self.put("docs/page.md", PAGE)

    def test_another_output_or_exit_code(self):
        self.edit("docs/page.md", "exit code 2", "exit code 1")
        self.expect("prints something else: gla-bench gate nothing.json")
        self.put("docs/page.md", PAGE)
        self.edit("docs/page.md", "two ...", "to ...")
        self.expect("prints something else: echo one; echo two three")

    def test_what_measures_is_not_executed(self):
        self.edit("docs/page.md", "$ echo one; ", "$ gla-bench run configs/quick.json -o a.json; ")
        self.expect("may not be executed here: gla-bench run configs/quick.json")

    def test_written_anew_it_passes(self):
        self.edit("docs/page.md", "two ...", "to ...\n...")
        self.edit("docs/page.md", "exit code 2", "exit code 1\n```\n\n```console run\n$ echo now\nthen")
        self.assertEqual(self.script().returncode, 1)
        done = self.script("--write")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = (self.tree / "docs/page.md").read_text()
        self.assertIn("$ echo now\nnow\n", text)
        self.assertIn("one\ntwo three\n...\n", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
