"""Functions of Python as candidates: functions_test.py GLA_BENCH SOURCE_DIR"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

built, source = sys.argv[1], pathlib.Path(sys.argv[2])
here = pathlib.Path(__file__).parent
os.environ["GLA_BENCH_PROGRAM"] = built
sys.path[:0] = [str(here), str(source / "examples")]

import gla_bench  # noqa: E402 (after the path to it)
import numpy_gla  # noqa: E402
import planted_functions as planted  # noqa: E402

PROBLEM = {"batch": 2, "seq": 37, "heads": 2, "key_dim": 16, "value_dim": 24}
QUICK = {"timing": {"min_samples": 5, "max_samples": 8, "max_seconds": 0.5, "hot": False}}


def command(*arguments):
    return subprocess.run([built, *arguments], capture_output=True, text=True,
                          env={**os.environ, "GLA_BENCH_PYTHON": sys.executable}, check=False)


class Right(unittest.TestCase):
    def test_a_function_without_options_is_right_on_drawn_problems(self):
        results = gla_bench.check(planted.plain, operator="gla", problems=60, seed=3)
        self.assertTrue(results.ok, [record.reason for record in results.failures()])
        self.assertGreater(sum(record.verified for record in results), 5)
        with self.assertRaisesRegex(gla_bench.GlaBenchError, "takes none of 5 drawn problems: .*never"):
            gla_bench.check(planted.plain, operator="gla", problems=5,
                            candidate={"requires": {"seq < 0": "never"}})

    def test_the_example_is_right_on_drawn_problems(self):
        results = gla_bench.check(numpy_gla.numpy_gla, problems=60, seed=11)
        self.assertTrue(results.ok, [record.reason for record in results.failures()])
        self.assertGreater(sum(record.verified for record in results), 5)
        self.assertIn("float16", {record.dtype for record in results if record.verified})

    def test_outputs_as_arguments_by_name_and_in_order(self):
        for function in (planted.plain, planted.writes_itself, planted.by_name):
            for state in (True, False):
                results = gla_bench.check(function, operator="gla", final_state=state, **PROBLEM)
                self.assertTrue(results.ok, [record.reason for record in results])
                self.assertTrue(all(record.verified for record in results))

    def test_tiles_and_conditions_are_those_of_the_decorator(self):
        results = gla_bench.check(planted.writes_itself, **PROBLEM)
        self.assertEqual([record.tile for record in results], [{"block": 1}, {"block": 2}])
        wide = gla_bench.check(planted.writes_itself, **{**PROBLEM, "key_dim": 80})
        self.assertEqual({record.reason for record in wide}, {"takes 64 keys at most"})

    def test_it_is_measured(self):
        record = gla_bench.measure(planted.plain, operator="gla", policy=QUICK, **PROBLEM)
        self.assertTrue(record.verified)
        self.assertGreater(record.ms, 0)
        self.assertEqual(record.backend, "host")


    def test_functions_of_a_config(self):
        config = {"backend": "host", "sweeps": [
            {"operator": "gla", "dtypes": ["float32"], "shapes": [PROBLEM],
             "variants": ["mine", "recurrent"], "max_tiles": 1}]}
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder) / "results.json"
            results = gla_bench.verify(config, output=kept, candidates={"mine": planted.plain})
            self.assertTrue(results.ok)
            self.assertEqual({record.variant for record in results}, {"mine", "recurrent"})
            self.assertTrue(gla_bench.gate(kept))
        config["sweeps"][0]["variants"] = ["writes_itself"]
        self.assertTrue(gla_bench.verify(config, candidates=[planted.writes_itself]).ok)
        with self.assertRaisesRegex(gla_bench.InputError, "without @gla_bench.candidate"):
            gla_bench.verify(config, candidates=[planted.plain])


class Wrong(unittest.TestCase):
    def reason(self, function, status, policy=None, **more):
        """The reason that a verification refuses the function with."""
        manifest = gla_bench._places.manifest_of(function, "gla", **more)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "candidate.json"
            path.write_text(json.dumps(manifest))
            results = gla_bench.verify(
                {"backend": "host", "policy": policy or {},
                 "sweeps": [{"operator": "gla", "dtypes": ["float32"],
                             "variants": [function.__name__], "shapes": [PROBLEM]}]},
                candidates=[path])
        self.assertFalse(results.ok)
        self.assertEqual({record.status for record in results.failures()}, {status})
        return results.failures()[0].reason

    def test_a_wrong_result_names_the_outputs(self):
        reason = self.reason(planted.decays_too_late, "wrong")
        self.assertRegex(reason, "'o': .*above its bound.*'final_state': ")

    def test_memory_that_is_not_its_own(self):
        self.assertRegex(self.reason(planted.changes_inputs, "wrong"), "input 'q' changed")
        self.assertRegex(self.reason(planted.writes_beyond, "wrong"), "guard zone behind 'o'")
        self.assertRegex(self.reason(planted.leaves_memory, "wrong"), "'o': 96 of 3552 elements unwritten")

    def test_arrays_that_may_be_computed_later(self):
        self.assertRegex(self.reason(planted.is_lazy, "run_failed"), "_Lazy, expected a numpy.ndarray")

    def test_what_it_raises_and_where(self):
        reason = self.reason(planted.raises, "run_failed")
        self.assertRegex(reason, r"KeyError: 'no such head' \(.*planted_functions.py:\d+\)")

    def test_the_process_ends(self):
        self.assertRegex(self.reason(planted.crashes, "crashed"), "SIGSEGV")
        self.assertRegex(self.reason(planted.ends_the_process, "crashed"), "exit code 0")

    def test_it_never_returns(self):
        self.reason(planted.hangs, "timeout", {"limits": {"least_seconds": 2, "factor": 1}})

    def test_what_it_returns(self):
        self.assertRegex(self.reason(planted.misses_tokens, "run_failed"),
                         r"returned o of shape \[2, 36, 2, 24\], expected \[2, 37, 2, 24\]")
        self.assertRegex(self.reason(planted.is_float64, "run_failed"),
                         "returned o of dtype float64, expected float32")
        self.assertRegex(self.reason(planted.returns_too_few, "run_failed"),
                         "returned 1 tensors, expected o, final_state")


class Isolated(unittest.TestCase):
    """What a function may not do besides computing, where the system allows to forbid it."""

    def setUp(self):
        results = gla_bench.check(planted.keeps_a_file_of_its_own, operator="gla", **PROBLEM)
        self.assertTrue(results.ok, [record.reason for record in results.failures()])
        said = results.environment["isolation"]
        self.assertRegex(results.environment["python"], r"^3\.\d+")
        self.assertRegex(results.environment["numpy"], r"^\d+\.")
        if said != "network and files":
            self.skipTest(f"this system isolates {said}")

    def reason(self, function):
        results = gla_bench.check(function, operator="gla", **PROBLEM)
        self.assertFalse(results.ok)
        return results.failures()[0].reason

    def test_there_is_no_network(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            os.environ["PLANTED_PORT"] = str(server.getsockname()[1])
            self.assertRegex(self.reason(planted.reaches_the_network), "OSError.*unreachable")

    def test_files_cannot_be_changed(self):
        self.assertRegex(self.reason(planted.writes_a_file), "OSError: .*Read-only file system")
        self.assertFalse((here / "planted.txt").exists())

    def test_none_of_it_can_be_taken_back(self):
        self.assertRegex(self.reason(planted.mounts_again), "PermissionError")

    def test_memory_has_a_limit(self):
        self.assertRegex(self.reason(planted.takes_all_memory), "MemoryError")

    def test_wrong_tensors_can_be_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            manifest = pathlib.Path(folder) / "candidate.json"
            manifest.write_text(json.dumps(
                gla_bench._places.manifest_of(planted.decays_too_late, "gla")))
            config = pathlib.Path(folder) / "config.json"
            config.write_text(json.dumps({"backend": "host", "sweeps": [
                {"operator": "gla", "dtypes": ["float32"], "shapes": [PROBLEM],
                 "variants": ["decays_too_late"]}]}))
            ran = command("verify", str(config), "--candidates", str(manifest), "--keep-wrong",
                          f"{folder}/kept")
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertTrue(list(pathlib.Path(folder).glob("kept/**/*.safetensors")), ran.stderr)


class Descriptions(unittest.TestCase):
    def test_what_cannot_be_a_candidate(self):
        with self.assertRaisesRegex(TypeError, "<lambda>, expected a function of a module's own"):
            gla_bench.check(lambda q: q, operator="gla")
        with self.assertRaisesRegex(TypeError, "`operator`"):
            gla_bench.check(planted.plain)
        with self.assertRaisesRegex(TypeError, "'softmax', expected 'gla'"):
            gla_bench.check(planted.writes_itself, operator="softmax")
        with self.assertRaisesRegex(TypeError, "parameters that are tensors"):
            gla_bench.candidate(operator="gla")(lambda *tensors: tensors)
        with self.assertRaisesRegex(gla_bench.InputError, "/operator: found \"glaa\""):
            gla_bench.check(planted.plain, operator="glaa", **PROBLEM)
        with self.assertRaisesRegex(gla_bench.InputError, "/arguments/0: found \"cls\""):
            gla_bench.check(_takes_something_else, operator="gla", **PROBLEM)
        with self.assertRaisesRegex(gla_bench.GlaBenchError, "above its bound"):
            gla_bench.measure(planted.decays_too_late, operator="gla", policy=QUICK, **PROBLEM)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.config = pathlib.Path(self.folder.name) / "config.json"
        self.results = pathlib.Path(self.folder.name) / "results.json"
        self.example = str(source / "examples" / "numpy_gla.py") + ":numpy_gla"
        self.config.write_text(json.dumps(
            {"backend": "host", "policy": QUICK,
             "sweeps": [{"operator": "gla", "dtypes": ["float32"], "shapes": [PROBLEM],
                         "variants": ["numpy_gla", "recurrent"], "max_tiles": 1}]}))

    def test_it_is_one_variant_more(self):
        ran = command("run", str(self.config), "-o", str(self.results), "--candidates", self.example)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        records = {record.variant: record for record in gla_bench.load(self.results)}
        self.assertEqual(set(records), {"numpy_gla", "recurrent"})
        self.assertEqual(records["numpy_gla"].raw["manifest"], self.example)
        self.assertEqual(command("gate", str(self.results)).returncode, 0)
        row = 1 + [record.variant for record in gla_bench.load(self.results)].index("numpy_gla")
        again = command("repeat", f"{self.results}#{row}", "--verify")
        self.assertEqual(again.returncode, 0, again.stderr)
        listed = command("list", "gla", "--candidates", self.example)
        self.assertIn("numpy_gla [host] Token by token", listed.stdout)

    def test_many_calls_tell_which_left_other_bits(self):
        mine = pathlib.Path(self.folder.name) / "mine.py"
        text = (source / "examples" / "numpy_gla.py").read_text()
        text = text.replace("@gla_bench", "CALLS = []\n\n\n@gla_bench", 1)
        for step, code, others in (("0", 0, 0), ("1e-3", 1, 3)):
            mine.write_text(text.replace(
                "return o, state", f"CALLS.append(0)\n    return o + {step} * len(CALLS), state"))
            command("verify", str(self.config), "-o", str(self.results), "--force", "--candidates",
                    f"{mine}:numpy_gla")
            row = 1 + [record.variant for record in gla_bench.load(self.results)].index("numpy_gla")
            called = command("repeat", f"{self.results}#{row}", "--calls", "4")
            self.assertEqual(called.returncode, code, called.stderr)
            self.assertIn(f"4 calls with the same inputs: {others} left other bits than the first",
                          called.stdout)
            self.assertEqual(called.stdout.count("'o' has other bits in "), others)
        refused = command("repeat", f"{self.results}#{row}", "--calls", "4", "--keep-wrong", "wrong")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--keep-wrong", refused.stderr)

    def test_an_edit_makes_its_records_stale(self):
        copy = pathlib.Path(self.folder.name) / "mine.py"
        text = (source / "examples" / "numpy_gla.py").read_text()
        copy.write_text(text)
        ran = command("run", str(self.config), "-o", str(self.results), "--candidates",
                      f"{copy}:numpy_gla")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(command("gate", "--require-fresh", str(self.results)).returncode, 0)
        copy.write_text(text.replace("o[:, t] = scale", "o[:, t] = 1 * scale"))
        stale = command("gate", "--require-fresh", str(self.results))
        self.assertEqual(stale.returncode, 1)
        self.assertIn("numpy_gla", stale.stdout + stale.stderr)

    def test_bad_input_ends_with_exit_code_2(self):
        undecorated = f"{here / 'planted_functions.py'}:plain"
        for candidate, why in ((undecorated, "without @gla_bench.candidate"),
                               (str(here / "none.py") + ":plain", "there is no such file"),
                               (str(source / "examples" / "numpy_gla.py") + ":other",
                                "has no function other")):
            ran = command("verify", str(self.config), "--candidates", candidate)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(why, ran.stderr)
        os.environ["GLA_BENCH_PYTHON"] = "/no/such/python"
        try:
            ran = subprocess.run([built, "list", "gla", "--candidates", self.example],
                                 capture_output=True, text=True, check=False)
        finally:
            del os.environ["GLA_BENCH_PYTHON"]
        self.assertEqual(ran.returncode, 2)
        self.assertIn("/no/such/python", ran.stderr)


def _takes_something_else(cls, q):
    return q


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
