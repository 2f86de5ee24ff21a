#!/usr/bin/env python3
"""Records of other projects' implementations (`peer: true`), as they are committed: the program and its schema take
them. tests/python/peers_test.py has the candidates that make such records now.

    peers_test.py PROGRAM ROOT
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
FILES = sorted((ROOT / "results").glob("*/peers-*.json"))


def program(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


class Committed(unittest.TestCase):
    def test_they_are_peers(self):
        self.assertGreater(len(FILES), 3)
        for path in FILES:
            records = json.loads(path.read_text())["records"]
            self.assertTrue(records and all(record["peer"] for record in records), path)

    def test_the_schema_takes_them(self):
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        validator = Draft202012Validator(json.loads((ROOT / "configs/schema/results.schema.json").read_text()))
        for path in FILES:
            found = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(json.loads(path.read_text()))]
            self.assertEqual(found, [], path)

    def test_gate_and_report_take_them(self):
        for path in FILES:
            gate, report = program("gate", path), program("report", path)
            self.assertEqual(gate.returncode, 0, gate.stdout + gate.stderr)
            self.assertEqual(report.returncode, 0, report.stderr)
            for record in json.loads(path.read_text())["records"]:
                self.assertIn(record["variant"], report.stdout)

    def test_a_peer_that_fails_is_a_warning_and_one_beyond_its_bound_an_error(self):
        document = json.loads(FILES[0].read_text())
        record = next(one for one in document["records"] if one["status"] == "measured")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "peers.json"

            def gate(change):
                changed = json.loads(json.dumps(document))
                change(changed["records"][document["records"].index(record)])
                path.write_text(json.dumps(changed))
                return program("gate", path)

            def late(one):
                one.update(status="timeout", reason="not done in 1 s")
                del one["timing"]

            def too_far(one):
                one["verification"]["tensors"]["o"]["rel_l2"] = 0.2

            done = gate(late)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("not done in 1 s", done.stdout)
            self.assertEqual(gate(too_far).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
