#!/usr/bin/env python3
"""Plants faults in lists of faults, and stand-ins for the program, and asks scripts/mutants.py what it says.

  mutants_test.py ROOT     ROOT: the source tree whose scripts/mutants.py is tested
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop()).resolve()
SCRIPT = ROOT / "scripts/mutants.py"

FAULT = {"name": "scale_left_out", "file": "kernels/family/kernel.cuh", "find": "scale * x",
         "replace": "x", "what": "The scale is left out.", "variants": ["fast"], "operators": ["toy"]}

# Stands for the program: `fast` is right as long as its kernel has the scale in it.
PROGRAM = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
words = sys.argv[1:]
with Path(__file__).with_name("calls").open("a") as calls:
    print(*words, file=calls)
value = lambda option: words[words.index(option) + 1] if option in words else ""
kernels = value("--kernels")
text = Path(kernels, "family/kernel.cuh").read_text() if kernels else "scale"
right = "scale" in text
row = {"variant": "fast", "operator": "toy", "direction": "forward", "dtype": "float32", "layout": "seq_first",
       "gate": "mild", "shape": {"batch": 2, "seq": 3}, "tile": {"chunk": 8}, "reason": "refused by the compiler",
       "status": "build_failed" if "#error" in text else "verified" if right else "wrong",
       "verification": {"check": "" if right else "tolerance", "tensors": {"o": {"ok": right}}}}
if value("--output"):
    Path(value("--output")).write_text(json.dumps({"records": [] if "nothing" in text else [row]}))
print("records: 1", row["status"])
sys.exit(0 if right and "#error" not in text and "nothing" not in text else 1)
"""


class Mutants(unittest.TestCase):
    """Each test starts from a tree of one kernel and one fault, with which nothing is wrong."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        self.write("kernels/family/kernel.cuh", "float y = scale * x;\nfloat z = x;\n")
        self.write("program", PROGRAM)
        (self.tree / "program").chmod(0o755)
        self.faults(FAULT)

    def write(self, path, text):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def faults(self, *faults, backend="cuda"):
        self.write("tests/mutants/list.json", json.dumps({"backend": backend, "faults": list(faults)}))

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "--root", self.tree, "--backend", "cuda", "--program",
                               self.tree / "program", "--jobs", "2", *arguments],
                              capture_output=True, text=True, check=False)

    def assert_refused(self, sentence, *arguments):
        done = self.run_script("--check", *arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(sentence, done.stderr)

    def test_a_list_in_order_is_accepted(self):
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 faults of the cuda, 1 of them to be caught", done.stdout)

    def test_text_that_is_not_there_once_is_named(self):
        self.faults({**FAULT, "find": "scale / x"})
        self.assert_refused("scale_left_out: `find` occurs 0 times")
        self.faults({**FAULT, "find": "float"})
        self.assert_refused("scale_left_out: `find` occurs 2 times")
        self.faults({**FAULT, "find": "x;", "after": "float z"})
        self.assertEqual(self.run_script("--check").returncode, 0)
        self.faults({**FAULT, "find": "scale", "after": "float z"})
        self.assert_refused("`find` does not occur behind `after`")
        self.faults({**FAULT, "after": "float"})
        self.assert_refused("`after` occurs 2 times")

    def test_broken_entries_are_named(self):
        for key in FAULT:
            if key != "name":
                self.faults({name: value for name, value in FAULT.items() if name != key})
                self.assert_refused(f"scale_left_out: \"{key}\" is missing")
        self.faults({**FAULT, "whta": "The scale is left out."})
        self.assert_refused("unexpected \"whta\"")
        self.faults({**FAULT, "replace": FAULT["find"]})
        self.assert_refused("the edit changes nothing")
        self.faults({**FAULT, "what": "no scale"})
        self.assert_refused("\"what\" is not a sentence")
        self.faults({**FAULT, "variants": []})
        self.assert_refused("\"variants\" holds no names")
        self.faults({**FAULT, "file": "harness/main.cpp"})
        self.assert_refused("is not a source of the cuda below kernels/")
        self.faults({**FAULT, "file": "kernels/family/other.cuh"})
        self.assert_refused("there is no kernels/family/other.cuh")
        self.faults(FAULT, FAULT)
        self.assert_refused("two faults have this name")
        self.faults(FAULT, backend="tpu")
        self.assert_refused("\"tpu\" is no backend")
        self.faults(FAULT)
        self.assert_refused("--only: the cuda has no other", "--only", "other")

    def test_a_fault_that_a_check_finds_is_caught(self):
        done = self.run_script("--output", self.tree / "table.json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("caught   scale_left_out: tolerance (o)", done.stdout)
        self.assertIn("1 of 1 faults caught (100 %)", done.stdout)
        table = json.loads((self.tree / "table.json").read_text())
        self.assertEqual(table["outcomes"][0]["check"], "tolerance (o)")
        self.assertIn("fast toy forward float32", table["outcomes"][0]["row"])

    def test_a_fault_that_nothing_finds_survives(self):
        self.faults(FAULT, {**FAULT, "name": "other_x", "find": "z = x", "replace": "z = 2 * x"})
        done = self.run_script("--output", self.tree / "table.md")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("survived other_x", done.stdout)
        table = (self.tree / "table.md").read_text()
        self.assertIn("1 of 2 faults caught (50 %).", table)
        self.assertIn("| `other_x` | The scale is left out. | **survived** |", table)

    def test_what_is_argued_is_listed_and_not_counted(self):
        self.faults(FAULT, {**FAULT, "name": "other_x", "equivalent": "Both are the same."})
        done = self.run_script("--output", self.tree / "table.md")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 of 1 faults caught (100 %); 1 more are listed and not run", done.stdout)
        self.assertIn("equivalent: Both are the same.", (self.tree / "table.md").read_text())

    def test_what_is_known_to_survive_counts_and_is_left_out_of_samples(self):
        self.faults(FAULT, {**FAULT, "name": "other_x", "find": "z = x", "replace": "z = 2 * x",
                            "survives": "Nobody reads z."})
        done = self.run_script("--output", self.tree / "table.md")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 of 2 faults caught (50 %)", done.stdout)
        self.assertIn("**survived**: Nobody reads z.", (self.tree / "table.md").read_text())
        sample = self.run_script("--sample", "2")
        self.assertEqual(sample.returncode, 0, sample.stdout + sample.stderr)
        self.assertIn("1 of 1 faults caught", sample.stdout)

    def test_what_can_not_be_tried_is_no_success(self):
        for replace, sentence in (("#error", "does not compile: refused by the compiler"),
                                  ("nothing", "no row was tried")):
            self.faults({**FAULT, "replace": replace})
            done = self.run_script()
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(f"broken   scale_left_out: {sentence}", done.stdout)

    def test_a_program_that_is_wrong_without_a_fault_says_nothing_of_faults(self):
        self.write("program", PROGRAM.replace('else "scale"', 'else ""'))
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("the program without a fault does not pass", done.stdout)
        self.assertNotIn("caught", done.stdout)

    def test_emulation_reaches_every_call_and_is_refused_for_the_host(self):
        blocks = [f"<!-- mutants {name}: begin -->\n<!-- mutants {name}: end -->\n" for name in ("cuda", "emulated")]
        self.write("docs/mutants.md", "".join(blocks))
        done = self.run_script("--emulate", "--docs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        page = (self.tree / "docs/mutants.md").read_text()
        self.assertTrue(page.startswith(blocks[0]), "the table of GPUs stays as it is")
        self.assertIn("`scale_left_out`", page)
        calls = (self.tree / "calls").read_text().splitlines()
        self.assertEqual(len(calls), 2, "the program without a fault and with it")
        for call in calls:
            self.assertIn("--emulate", call.split())
        done = self.run_script("--emulate", "--backend", "host")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--emulate: what is emulated is a GPU: expected --backend cuda beside it", done.stderr)

    def test_a_sample_changes_with_the_date(self):
        self.faults(*({**FAULT, "name": f"scale_{n}"} for n in range(40)))

        def names(date):
            done = self.run_script("--sample", "3", "--date", date)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("caught")]
        self.assertEqual(len(names("2026-08-01")), 3)
        self.assertEqual(names("2026-08-01"), names("2026-08-01"))
        self.assertNotEqual(names("2026-08-01"), names("2026-08-02"))
        self.assertEqual(self.run_script("--sample", "3", "--date", "tomorrow").returncode, 2)


class TheList(unittest.TestCase):
    """The committed list: what it must cover."""

    def test_at_least_fifty_faults_of_each_backend_and_every_variant(self):
        for backend, least in (("host", 50), ("cuda", 50)):
            done = subprocess.run([sys.executable, SCRIPT, "--check", "--backend", backend],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreaterEqual(int(done.stdout.split(", ")[1].split()[0]), least)
            entries = [fault for path in (ROOT / "tests/mutants").glob("*.json")
                       for document in [json.loads(path.read_text())] if document["backend"] == backend
                       for fault in document["faults"]]
            covered = {(variant, op) for fault in entries for variant in fault["variants"]
                       for op in fault["operators"]}
            for variant, op in VARIANTS | (HOPPER if backend == "cuda" else set()):
                self.assertIn((variant, op), covered, backend)


RECURRENCES = ("linear_attention", "retention", "simple_gla", "gla", "rwkv6")
FORMS = ("recurrent", "decode", "parallel", "parallel_cublas", "chunk_fused", "chunk_materialized")
VARIANTS = ({(form, op) for form in FORMS for op in RECURRENCES} | {("chunk_pipeline", "gla")}
            | {(rows, "softmax") for rows in ("three_pass", "online", "online_blocked")}
            | {(form, "attention") for form in ("flash1", "flash_decoding_pp")}
            | {(form, op) for form in ("materialized", "flash2", "flash_decoding", "flash2_deterministic")
               for op in ("attention", "decay_attention")}
            | {(form, "gla_layer") for form in ("composed", "fused")})
HOPPER = ({("chunk_sm90", op) for op in RECURRENCES}
          | {("cluster", "softmax")}
          | {(form, op) for form in ("flash_sm90", "flash_decoding_sm90") for op in ("attention", "decay_attention")})

if __name__ == "__main__":
    unittest.main()
