#!/usr/bin/env python3
"""What a device's fastest tile loses on another, with numbers."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv.pop()) / "scripts"))
from tables.devices import devices_table, transfers  # noqa: E402 (after the path to it)


def record(tile, milliseconds, seq=64, standing="slower_tile", peer=False, file="headline.json"):
    return {"file": file, "variant": "chunk", "tile": {"stages": tile}, "operator": "gla", "direction": "forward",
            "gate": "mild", "shape": {"batch": 1, "seq": seq}, "peer": peer, "row": {"standing": standing},
            "timing": {"cold": {"median_ms": milliseconds}}}


class DevicesTable(unittest.TestCase):
    def test_the_other_devices_tile_is_held_against_the_own_one(self):
        one = [record(2, 1.25), record(3, 1.0), record(4, 1.5)]
        other = [record(2, 2.0), record(3, 2.1), record(4, 4.0)]
        (count, here, there, forth, back), = transfers(one, other)
        self.assertEqual((count, here["tile"]["stages"], there["tile"]["stages"]), (3, 3, 2))
        self.assertAlmostEqual(forth, 0.05)
        self.assertAlmostEqual(back, 0.25)
        table = devices_table(one, other)
        self.assertIn("| forward | gla, `mild` | 1,64 | 3 | 1.000 | 2.000 | + 5.0 % | + 25 % |", table)
        self.assertIn("Of 1 problems, the H200's tile loses on the H100 median 5.0 %, worst 5.0 %", table)

    def test_only_what_both_have_timed_counts(self):
        one = [record(2, 1.0), record(3, 0.5), record(4, 2.0), record(5, 0.1, standing="wrong"),
               record(6, 0.1, peer=True)]
        other = [record(2, 2.0), record(4, 3.0), record(5, 0.1), record(6, 0.1)]
        (count, here, _, forth, back), = transfers(one, other)
        self.assertEqual((count, here["tile"]["stages"], forth, back), (2, 2, 0, 0))

    def test_other_problems_files_and_single_tiles_say_nothing(self):
        one = [record(2, 1.0), record(3, 2.0), record(2, 1.0, seq=128)]
        self.assertEqual(transfers(one, [record(2, 1.0, seq=256), record(3, 2.0, seq=256)]), [])
        self.assertEqual(transfers(one, [record(2, 1.0, file="gla.json"), record(3, 2.0, file="gla.json")]), [])
        self.assertEqual(transfers(one, [record(2, 1.0), record(2, 1.0, seq=128)]), [])
        self.assertIn("Not measured yet", devices_table(one, []))


if __name__ == "__main__":
    unittest.main()
