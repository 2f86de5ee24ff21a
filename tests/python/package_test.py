"""The Python package on the program that was built: package_test.py GLA_BENCH SOURCE_DIR"""

import copy
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

built, source = sys.argv[1], pathlib.Path(sys.argv[2])
os.environ["GLA_BENCH_PROGRAM"] = built

import gla_bench  # noqa: E402 (after the path to it)
from gla_bench import _records  # noqa: E402

CONFIG = {
    "backend": "host",
    "policy": {"timing": {"min_samples": 3, "max_samples": 5, "max_seconds": 0.2, "hot": False}},
    "sweeps": [{"operator": "gla", "dtypes": ["float32"], "variants": ["recurrent", "chunk_fused"],
                "max_tiles": 1, "shapes": [[1, 64, 2, 16, 16], [1, 80, 2, 16, 16]]}],
}


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "results.json"
        cls.results = gla_bench.run(CONFIG, output=cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def changed(self, change):
        """The results with their first record changed, in a file of its own."""
        document = json.loads(self.path.read_text())
        change(document["records"][0])
        path = pathlib.Path(self.folder.name) / "changed.json"
        path.write_text(json.dumps(document))
        return path

    def test_a_config_is_run(self):
        self.assertTrue(self.results.ok)
        self.assertEqual(len(self.results), 4)
        self.assertEqual({record.variant for record in self.results}, {"recurrent", "chunk_fused"})
        for record in self.results:
            self.assertTrue(record.verified, record.reason)
            self.assertGreater(record.ms, 0)
            self.assertLessEqual(record.error_over_bound, 1)
            self.assertIn(record.shape["seq"], (64, 80))
        self.assertEqual(self.results.environment["backend"], "host")
        self.assertEqual(gla_bench.load(self.path).records, self.results.records)

    def test_the_best_is_the_fastest_that_is_right(self):
        best = self.results.best()
        self.assertEqual(len(best), 2)
        for record in best:
            rivals = [one.ms for one in self.results if one.problem == record.problem]
            self.assertEqual(len(rivals), 2)
            self.assertEqual(record.ms, min(rivals))

        def fastest(record):
            record["timing"]["cold"]["median_ms"] = 1e-9

        def times_of(fault):
            path = self.changed(lambda record: (fastest(record), fault(record)))
            return [record.ms for record in gla_bench.load(path).best()]
        self.assertIn(1e-9, times_of(lambda record: None))
        for fault in (lambda r: r.update(status="wrong"), lambda r: r.update(peer=True),
                      lambda r: r["timing"].update(suspect=True),
                      lambda r: r["verification"].update(ok=False),
                      lambda r: r["verification"].update(last_timed_ok=False)):
            self.assertNotIn(1e-9, times_of(fault))

    def test_failures_are_told(self):
        path = self.changed(lambda r: r.update(status="wrong", reason="'o': rel_l2 1 above 0.1"))
        results = gla_bench.load(path)
        self.assertFalse(results.ok)
        self.assertEqual([record.reason for record in results.failures()],
                         ["'o': rel_l2 1 above 0.1"])
        self.assertFalse(gla_bench.gate(path))
        self.assertTrue(gla_bench.gate(self.path))

    def test_rows_have_the_same_keys(self):
        rows = self.results.rows()
        self.assertEqual(len(rows), 4)
        self.assertEqual({tuple(row) for row in rows}, {tuple(rows[0])})
        self.assertEqual(rows[0]["key_dim"], 16)

    def test_verify_takes_no_times(self):
        results = gla_bench.verify(CONFIG)
        self.assertTrue(results.ok)
        self.assertTrue(all(record.verified and record.ms is None for record in results))
        self.assertEqual(results.best(), [])

    def test_bad_input_is_an_error_with_its_place(self):
        config = copy.deepcopy(CONFIG)
        config["sweeps"][0]["operator"] = "glaa"
        with self.assertRaises(gla_bench.InputError) as caught:
            gla_bench.run(config)
        self.assertRegex(str(caught.exception), "/sweeps/0/operator")
        self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(gla_bench.InputError):
            gla_bench.run(CONFIG, candidates=["no/such/manifest.json"])

    def test_no_results_are_lost(self):
        before = self.path.read_bytes()
        with self.assertRaises(gla_bench.InputError):
            gla_bench.run(CONFIG, output=self.path)
        self.assertEqual(self.path.read_bytes(), before)

    def test_other_files_are_refused(self):
        path = pathlib.Path(self.folder.name) / "other.json"
        for text in ('{"schema_version": 99}', "[]"):
            path.write_text(text)
            with self.assertRaisesRegex(ValueError, "/schema_version"):
                gla_bench.load(path)

    def test_a_program_that_is_not_there(self):
        os.environ["GLA_BENCH_PROGRAM"] = "/no/such/program"
        try:
            with self.assertRaisesRegex(FileNotFoundError, "GLA_BENCH_PROGRAM"):
                gla_bench.program()
        finally:
            os.environ["GLA_BENCH_PROGRAM"] = built

    def test_it_knows_the_programs_statuses_and_version(self):
        schema = (source / "configs/schema/results.schema.json").read_text()
        for status in _records._FAILED:
            self.assertIn(f'"{status}"', schema)
        project = (source / "CMakeLists.txt").read_text()
        self.assertEqual(gla_bench.version(), re.search(r"VERSION ([0-9.]+) LANGUAGES", project)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
