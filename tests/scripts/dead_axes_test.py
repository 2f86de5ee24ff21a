#!/usr/bin/env python3
"""Tests of scripts/dead_axes.py on made-up records: dead_axes_test.py SOURCE_DIR"""
import importlib.util
import json
import pathlib
import sys
import tarfile
import tempfile
import unittest

source = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(source / "scripts"))
spec = importlib.util.spec_from_file_location("dead_axes", source / "scripts/dead_axes.py")
dead_axes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dead_axes)


def record(seq, tile, ms, **more):
    return {"variant": "v", "direction": "forward", "status": "measured", "operator": "gla",
            "dtype": "bfloat16", "layout": "seq_first", "shape": {"seq": seq}, "initial_state": False,
            "final_state": True, "tile": tile,
            "timing": {"suspect": False, "cold": {"median_ms": ms}}, **more}


def rows_of(records, axes=None, by=0.01):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "r.json"
        path.write_text(json.dumps({"records": records}))
        return list(dead_axes.rows_of(dead_axes.times_of([path], axes or {}), by, 3))


def dead(records, axes=None, by=0.01):
    return {(row["axis"], row["value"]) for row in rows_of(records, axes, by) if row["dead"]}


class DeadAxes(unittest.TestCase):
    def test_what_is_never_ahead_is_dead(self):
        records = [record(seq, {"a": a}, 1 + a) for seq in (1, 2, 3) for a in (0, 1)]
        self.assertEqual(dead(records), {("a", 1)})

    def test_ahead_once_by_enough_is_alive(self):
        records = [record(seq, {"a": a}, 1 + a) for seq in (1, 2, 3) for a in (0, 1)]
        self.assertEqual(dead(records + [record(4, {"a": 0}, 1.02), record(4, {"a": 1}, 1.0)]), set())
        self.assertEqual(dead(records + [record(4, {"a": 0}, 1.005), record(4, {"a": 1}, 1.0)]),
                         {("a", 1)})

    def test_two_problems_say_nothing(self):
        self.assertEqual(dead([record(seq, {"a": a}, 1 + a) for seq in (1, 2) for a in (0, 1)]), set())

    def test_wrong_and_suspect_times_do_not_count(self):
        records = [record(seq, {"a": a}, 1 + a) for seq in (1, 2, 3) for a in (0, 1)]
        wrong = record(4, {"a": 1}, 0.1, status="wrong")
        suspect = record(4, {"a": 1}, 0.1, timing={"suspect": True, "cold": {"median_ms": 0.1}})
        self.assertEqual(dead(records + [record(4, {"a": 0}, 1), wrong, suspect]), {("a", 1)})

    def test_tiles_from_before_an_axis_have_its_first_value(self):
        records = [record(seq, tile, ms) for seq in (1, 2, 3) for tile, ms in (({}, 1), ({"a": 1}, 2))]
        self.assertEqual(dead(records), set())
        self.assertEqual(dead(records, {("v", "forward"): {"a": [0, 1]}}), {("a", 1)})

    def test_what_alone_runs_somewhere_is_alive(self):
        records = [record(seq, {"a": a}, 1 + a) for seq in (1, 2, 3) for a in (0, 1)]
        alone = [record(4, {"a": 1, "b": b}, 1) for b in (0, 1)]
        self.assertNotIn(("a", 1), dead(records + alone))

    def test_what_is_dead_is_written_but_for_first_values_and_arithmetic(self):
        records = [record(seq, {"a": a, "terms": terms}, 1 + a + terms)
                   for seq in (1, 2, 3) for a in (0, 1) for terms in (1, 3)]
        axes = {("v", "forward"): {"a": [0, 1], "terms": [1, 3]}}
        self.assertEqual(dead_axes.rare(rows_of(records, axes), axes), {"v": {"forward": {"a": [1]}}})
        axes = {("v", "forward"): {"a": [1, 0], "terms": [1, 3]}}
        self.assertEqual(dead_axes.rare(rows_of(records, axes), axes), {})
        axes = {("v", "forward"): {"a": [0, 2], "terms": [1, 3]}}  # as it is since a value left
        self.assertEqual(dead_axes.rare(rows_of(records, axes), axes), {})
        self.assertEqual(dead_axes.rare(rows_of(records), {}), {})  # none of the program's variants

    def test_what_was_left_out_stays_out_until_it_is_ahead(self):
        axes, before = {("v", "forward"): {"a": [0, 1, 2]}}, {("v", "forward", "a", 2)}
        records = [record(seq, {"a": a}, 1 + a) for seq in (1, 2, 3) for a in (0, 1)]
        self.assertEqual(dead_axes.rare(rows_of(records, axes), axes, before), {"v": {"forward": {"a": [1, 2]}}})
        behind = [*records, record(1, {"a": 2}, 3)]
        self.assertEqual(dead_axes.rare(rows_of(behind, axes), axes), {"v": {"forward": {"a": [1]}}})
        self.assertEqual(dead_axes.rare(rows_of(behind, axes), axes, before), {"v": {"forward": {"a": [1, 2]}}})
        ahead = [*records, record(1, {"a": 2}, 0.5)]
        self.assertEqual(dead_axes.rare(rows_of(ahead, axes), axes, before), {"v": {"forward": {"a": [1]}}})
        self.assertEqual(dead_axes.rare([], {}, before), {})  # none of the program's variants

    def test_what_was_written_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rare.inc"
            self.assertEqual(dead_axes.left_out_by(path), set())
            path.write_text('R"json(\n{"v": {"forward": {"a": [1, 2]}}}\n)json"\n')
            self.assertEqual(dead_axes.left_out_by(path), {("v", "forward", "a", 1), ("v", "forward", "a", 2)})

    def test_an_archive_counts_as_its_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "r.json"
            path.write_text(json.dumps({"records": [record(1, {"a": 0}, 1)]}))
            packed = pathlib.Path(folder) / "r.tar.xz"
            with tarfile.open(packed, "w:xz") as archive:
                archive.add(path, "r.json")
                archive.add(path, "notes.txt")
            self.assertEqual(dead_axes.times_of([packed], {}), dead_axes.times_of([path], {}))


if __name__ == "__main__":
    unittest.main()
