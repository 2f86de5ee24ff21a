"""The example notebook, cell by cell: notebook_test.py GLA_BENCH SOURCE_DIR"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

built, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
os.environ["GLA_BENCH_PROGRAM"] = built
os.environ["GLA_BENCH_PYTHON"] = sys.executable
WRITE = "%%writefile "


def run(path):
    """Runs the code cells as Jupyter does. Returns what each printed, and their variables."""
    variables, printed = {}, []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        text = "".join(cell["source"])
        if text.startswith(WRITE):
            name, _, body = text[len(WRITE):].partition("\n")
            pathlib.Path(name.strip()).write_text(body + "\n", encoding="utf-8")
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, str(path), "exec"), variables)
        printed.append(out.getvalue())
    return printed, variables


class Notebook(unittest.TestCase):
    def test_it_shows_what_it_says(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            sys.path.insert(0, folder)
            try:
                printed, variables = run(source / "examples" / "judge_a_function.ipynb")
            finally:
                sys.path.remove(folder)
                os.chdir(before)
        self.assertRegex(printed[0], "wrong - 'o': rel_l2 .* above its bound .*; 'final_state': ")
        self.assertEqual(printed[1], "right: True\n")
        self.assertRegex(printed[2], "right: True\n.*verified.*\n")
        times = [line.split() for line in printed[3].splitlines()]
        self.assertIn("mine", [line[0] for line in times])
        self.assertGreater(len(times), 3)
        self.assertEqual(variables["results"].failures(), [])

    def test_it_is_kept_without_outputs(self):
        notebook = json.loads((source / "examples" / "judge_a_function.ipynb").read_text())
        for cell in notebook["cells"]:
            self.assertEqual(cell.get("outputs", []), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
