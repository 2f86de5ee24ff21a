#!/usr/bin/env python3
"""The part of scripts/peers that needs no PyTorch: problems out of configs, records that the program
and its schema take.

    peers_test.py PROGRAM ROOT
"""

import ast
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "scripts" / "peers"))
sys.dont_write_bytecode = True
import peer_clocks  # noqa: E402
import peer_problems as peers  # noqa: E402
import run_fla  # noqa: E402

GLA = {"operator": "gla", "variants": "all", "dtypes": ["bfloat16"], "gates": ["mild"],
       "shapes": [[2, 64, 3, 32, 16]]}


def problem(**changes):
    return {**peers.problems({"sweeps": [GLA]})[0], **changes}


class Problems(unittest.TestCase):
    def test_shapes_are_lists_products_and_zips(self):
        axes = {"batch": [1, 2], "seq": 64, "heads": 3, "key_dim": [32, 64], "value_dim": 16}
        self.assertEqual([list(s.values()) for s in peers.shapes_of({"product": axes})],
                         [[1, 64, 3, 32, 16], [1, 64, 3, 64, 16], [2, 64, 3, 32, 16],
                          [2, 64, 3, 64, 16]])
        self.assertEqual([list(s.values()) for s in peers.shapes_of({"zip": axes})],
                         [[1, 64, 3, 32, 16], [2, 64, 3, 64, 16]])
        self.assertEqual(peers.shapes_of([[1, 2, 3, 4, 5]])[0]["value_dim"], 5)

    def test_axes_multiply_and_doubles_go(self):
        sweep = {**GLA, "gates": ["mild", "strong"], "initial_state": [True, False],
                 "options": {"in_place": True, "state_dtype": ["float32", "bfloat16"]}}
        listed = peers.problems({"sweeps": [sweep, sweep, {**GLA, "operator": "softmax"}]})
        self.assertEqual(len(listed), 8)
        self.assertEqual(listed[0]["options"], {"in_place": "true", "state_dtype": "float32"})

    def test_dtypes_have_other_names(self):
        sweep = {**GLA, "dtypes": ["bf16", "half"], "options": {"state_dtype": "bf16"}}
        listed = peers.problems({"sweeps": [sweep]})
        self.assertEqual([p["dtype"] for p in listed], ["bfloat16", "float16"])
        self.assertEqual(listed[0]["options"], {"state_dtype": "bfloat16"})

    def test_gates_that_are_not_given_are_the_operators_first(self):
        sweep = {name: value for name, value in GLA.items() if name != "gates"}
        self.assertEqual(peers.problems({"sweeps": [sweep]})[0]["gate"], "none")
        rwkv = {**sweep, "operator": "rwkv6"}
        self.assertEqual(peers.problems({"sweeps": [rwkv]})[0]["gate"], "rwkv")

    def test_what_the_peers_do_not_solve_has_a_reason(self):
        self.assertIsNone(peers.refuse_recurrence(problem()))
        self.assertIsNone(peers.refuse_recurrence(problem(options={"in_place": "true"})))
        self.assertIsNone(peers.refuse_recurrence(problem(options={"gate_dtype": "float32"})))
        self.assertIsNone(peers.refuse_recurrence(problem(options={"gate_dtype": "same"})))
        for changes in [{"layout": "head_first"}, {"gate": "resets"}, {"final_state": False},
                        {"options": {"state_dtype": "bfloat16"}}, {"operator": "softmax"},
                        {"options": {"packed": "true"}},
                        {"operator": "retention"},
                        {"shape": {**problem()["shape"], "sequences": 2}}]:
            self.assertTrue(peers.refuse_recurrence(problem(**changes)), changes)
        attention = problem(operator="attention", gate="normal")
        self.assertIsNone(peers.refuse_attention(attention))
        for changes in [{"dtype": "float32"}, {"gate": "peaked"}, {"options": {"lse": "true"}},
                        {"shape": {**attention["shape"], "key_seq": 128}}]:
            self.assertTrue(peers.refuse_attention({**attention, **changes}), changes)

    def test_every_problem_of_the_headline_has_a_peer(self):
        config = json.loads((ROOT / "configs/h200/headline.json").read_text())
        listed = peers.problems(config)
        self.assertEqual(len(listed), 15)
        self.assertEqual([peers.refuse_recurrence(p) for p in listed], [None] * 15)
        decoding = [p for p in listed if p["shape"]["seq"] == 1]
        self.assertEqual([peers.peers_of(p) for p in decoding], [["fused_recurrent_gla"]] * 2)
        jobs = peers.compile_jobs(listed)
        self.assertEqual(len(jobs), 11)  # of other dims each; gates and lengths share theirs
        self.assertEqual(jobs[0], 0)

    def test_arguments_have_each_functions_own_names(self):
        inputs = {name: name for name in ("q", "k", "v", "g", "u")}
        named = lambda operator, function: set(
            run_fla.arguments_of(problem(operator=operator), function, inputs))
        self.assertLessEqual({"q", "g"}, named("gla", "chunk_gla"))
        self.assertLessEqual({"q", "gk"}, named("gla", "fused_recurrent_gla"))
        self.assertLessEqual({"r", "w", "u"}, named("rwkv6", "chunk_rwkv6"))
        self.assertIn("normalize", named("linear_attention", "chunk_linear_attn"))
        self.assertEqual(run_fla.scale_of(problem(operator="rwkv6")), 1.0)
        self.assertEqual(run_fla.scale_of(problem()), 32**-0.5)


class Floors(unittest.TestCase):
    def test_gates_in_float32_take_twice_the_bytes_of_bfloat16(self):
        shape = problem()["shape"]
        gates = shape["batch"] * shape["seq"] * shape["heads"] * shape["key_dim"] * 2
        wide = problem(options={"gate_dtype": "float32"})
        self.assertEqual(peers.floor_bytes(wide) - peers.floor_bytes(problem()), gates)
        self.assertEqual(len(peers.compile_jobs([problem(), wide, problem(seed=2)])), 2)

    def test_they_are_the_programs_own(self):
        seen = 0
        for path in (ROOT / "results" / "h200").glob("*.json"):
            for record in json.loads(path.read_text())["records"]:
                options = record.get("options") or {}
                if (record["operator"] not in peers.FIRST_REGIME or record["direction"] != "forward"
                        or "sequences" in record["shape"] or record["peer"]
                        or not set(options) <= {"in_place", "causal"}):
                    continue
                seen += 1
                self.assertEqual(peers.floor_bytes(record), record["io"]["floor_bytes"],
                                 peers.describe(record))
        self.assertGreater(seen, 100)


class Records(unittest.TestCase):
    TIMES = [1.0 + 0.01 * i for i in range(30)]

    def document(self):
        errors = {"o": (2e-3, 0.01, 3e-3), "final_state": (1e-3, 0.01, 1e-3)}
        wrong = {"o": (math.nan, math.nan, math.nan), "final_state": (1e-3, 0.01, 1e-3)}
        decode = problem(initial_state=True, options={"in_place": "true"})
        clocks = {"clock_mhz_before": 1980.0, "clock_mhz_after": None, "throttled": True,
                  "clock_reasons": peer_clocks.names_of(0x4)}
        times = {"graph_ms": self.TIMES, "eager_ms": self.TIMES, "clocks": clocks,
                 "sustained_ms": self.TIMES, "sustained_copies": 3}
        records = [*peers.finished(problem(), "fla.chunk_gla", errors, times),
                   *peers.finished(decode, "fla.fused_recurrent_gla", errors, times),
                   *peers.finished(problem(), "fla.other", wrong, {**times, "sustained_ms": None}),
                   peers.failed(problem(), "fla.late", "timeout", "not done in 1 s"),
                   peers.failed(problem(), "fla.none", "run_failed", "TypeError: x")]
        return records, peers.document({"device": "a GPU", "peer": "canned"}, {"sweeps": [GLA]},
                                       records)

    def test_the_schema_takes_them(self):
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        schema = json.loads((ROOT / "configs/schema/results.schema.json").read_text())
        _, text = self.document()
        found = [f"{e.json_path}: {e.message}"
                 for e in Draft202012Validator(schema).iter_errors(json.loads(text))]
        self.assertEqual(found, [])

    def test_gate_and_report_take_them(self):
        records, text = self.document()
        self.assertEqual([r["status"] for r in records],
                         ["measured"] * 4 + ["wrong"] * 2 + ["timeout", "run_failed"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "peers.json"
            path.write_text(text)
            gate = subprocess.run([PROGRAM, "gate", path], capture_output=True, text=True)
            report = subprocess.run([PROGRAM, "report", path], capture_output=True, text=True)
        self.assertEqual(gate.returncode, 0, gate.stdout + gate.stderr)
        self.assertIn("not done in 1 s", gate.stdout)
        self.assertEqual(report.returncode, 0, report.stderr)
        for name in ("fla.chunk_gla", "fla.chunk_gla.eager", "fla.fused_recurrent_gla"):
            self.assertIn(name, report.stdout)

    def test_the_gate_looks_at_their_errors(self):
        _, text = self.document()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "peers.json"
            path.write_text(text.replace('"rel_l2": 0.002', '"rel_l2": 0.2', 1))
            gate = subprocess.run([PROGRAM, "gate", path], capture_output=True, text=True)
        self.assertEqual(gate.returncode, 1, gate.stdout)

    def test_what_is_interrupted_leaves_a_whole_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "peers.json"
            records, _ = self.document()
            for count in (1, 3):
                peers.write(str(path), {}, {"sweeps": [GLA]}, records[:count])
                self.assertEqual(len(json.loads(path.read_text())["records"]), count)
            self.assertEqual([p.name for p in Path(folder).iterdir()], ["peers.json"])


class Scripts(unittest.TestCase):
    def test_they_are_python_and_import_pytorch_only_when_it_is_needed(self):
        for path in (ROOT / "scripts" / "peers").glob("*.py"):
            tree = ast.parse(path.read_text(), path.name)
            top = {alias.name.split(".")[0] for node in tree.body
                   if isinstance(node, ast.Import) for alias in node.names}
            if path.name != "peer_device.py":
                self.assertFalse(top & {"torch", "fla", "triton", "peer_device"}, path.name)

    def test_what_is_not_installed_is_skipped_by_name(self):
        # An empty folder in the place of both packages, also where they are installed.
        with tempfile.TemporaryDirectory() as folder:
            for name in ("torch", "fla"):
                (Path(folder) / f"{name}.py").write_text("raise ImportError('not here')\n")
            for script, config in (("run_fla.py", "headline"), ("run_sdpa.py", "attention")):
                done = subprocess.run(
                    [sys.executable, ROOT / "scripts/peers" / script,
                     ROOT / f"configs/h200/{config}.json", "-o", Path(folder) / "out.json"],
                    capture_output=True, text=True,
                    env={"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "PATH": ""})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("is not installed", done.stderr)
                self.assertFalse((Path(folder) / "out.json").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
