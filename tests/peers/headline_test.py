#!/usr/bin/env python3
"""The headline table and the README's five rows of it: our times, the peers' measured beside them, targets.

    headline_test.py PROGRAM ROOT
"""

import copy
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
GPU = {"uuid": "GPU-1", "driver": "580.1"}
NAMES = ["batch", "seq", "heads", "key_dim", "value_dim"]
# A committed file, so that what the tests write has every member that the program expects.
DOCUMENT = json.loads((ROOT / "results/h200/gla.json").read_text())
TEMPLATE = next(row for row in DOCUMENT["records"] if row["status"] == "measured")


def series(ms):
    return {"median_ms": ms, "min_ms": ms, "p20_ms": ms, "p80_ms": ms, "samples_ms": [ms] * 20,
            "stopped_because": "noise"}


def record(variant, ms, extents=(8, 4096, 16, 128, 128), **changes):
    floor = 4e8
    row = copy.deepcopy(TEMPLATE)
    row.update(variant=variant, operator="gla", direction="forward", dtype="bfloat16", gate="mild",
               shape=dict(zip(NAMES, extents)), seed=1, tile={"stages": 3}, build=None, peer=False)
    row.pop("options", None)
    row["source_hash"] = ""  # not known, so that no row is marked as one of other sources
    row["timing"].update(cold=series(ms), hot=None)
    for member in ("sustained", "sustained_copies"):
        row["timing"].pop(member, None)
    row["io"].update(floor_bytes=floor, model_read_bytes=floor, model_write_bytes=0.0)
    row["io"]["measured"].update(dram_read_bytes=0.75 * floor, dram_write_bytes=0.5 * floor)
    return {**row, **changes}


def wrong(variant, ms, **changes):
    row = record(variant, ms, status="wrong", reason="planted", **changes)
    row["verification"]["ok"] = False
    return row


def peer(variant, ms, **changes):
    row = record(variant, ms, peer=True, tile={}, **changes)
    del row["command"], row["io"]["measured"]
    return row


class Headline(unittest.TestCase):
    """Runs the script on a copy of the tree with records of our own making."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = Path(folder.name)
        (self.copy / "results" / "h200").mkdir(parents=True)
        (self.copy / "scripts").mkdir()
        (self.copy / "docs").mkdir()
        for path in ("README.md", "docs/devices.md", "docs/first_look.md", "docs/headline.md", "docs/measured.md",
                     "docs/peers.md", "results/measured_over_model.txt", "results/headline_targets.txt",
                     "scripts/readme_tables.py"):
            shutil.copy(ROOT / path, self.copy / path)
        shutil.copytree(ROOT / "scripts/tables", self.copy / "scripts/tables")
        # The other tables need a record each.
        self.put("gla.json", [record("chunk_fused", 1.0)], "2026-01-01T10:00:00Z")

    def put(self, name, records, started, folder="h200", **facts):
        environment = {**DOCUMENT["environment"], **GPU, "copy_gb_per_s": 4000.0, "l2_bytes": 5e7,
                       "started": started, "device": "", **facts}
        path = self.copy / "results" / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**DOCUMENT, "environment": environment, "records": records}))

    def script(self, *arguments):
        return subprocess.run(
            [sys.executable, self.copy / "scripts" / "readme_tables.py", "--program", PROGRAM,
             *arguments],
            capture_output=True, text=True)

    def table(self, path="docs/headline.md", name="headline"):
        done = self.script()
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.copy / path).read_text()
        lines = text.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0]
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()
                if line.startswith("|")]

    def row(self, operator, extents):
        return next(row for row in self.table() if row[:2] == [operator, extents])

    def test_peers_stand_beside_ours_and_wrong_ones_apart(self):
        bad = peer("fla_fast", 1.5, status="wrong", reason="planted")
        bad["verification"].update(ok=False, check="rel_l2")
        next(iter(bad["verification"]["tensors"].values())).update(rel_l2=0.03, bound=0.01)
        rows = [record("chunk_sm90", 1.0), record("chunk_fused", 2.0), peer("fla_slow", 4.0),
                peer("fla_right", 3.0), bad]
        self.put("headline.json", rows, "2026-01-01T10:00:00Z", folder="h200/peers")
        head, rule, row = self.table("docs/peers.md", "peers_h200")
        output = next(iter(bad["verification"]["tensors"]))
        self.assertEqual(row[:2] + row[3:5], ["forward", "gla, `mild`", "`chunk_sm90`", "1.000"])
        self.assertEqual(row[7:], ["`fla_right`", "3.000", "3.00", f"`fla_fast`: 1.500, `{output}` 3.00"])

    def test_drawn_problems_stand_in_a_table_of_their_own(self):
        for name, ms in (("headline.json", 1.0), ("drawn.json", 2.0)):
            self.put(name, [record("chunk_sm90", ms), peer("fla_right", 3.0)], "2026-01-01T10:00:00Z",
                     folder="h200/peers")
        for name, ms, ratio in (("peers_h200", "1.000", "3.00"), ("peers_drawn", "2.000", "1.50")):
            row = self.table("docs/peers.md", name)[2:]
            self.assertEqual([cells[4] for cells in row], [ms])
            self.assertEqual([cells[9] for cells in row], [ratio])

    def test_without_records_it_says_so_and_is_up_to_date(self):
        self.assertEqual(self.table(), [])
        self.assertIn("Not measured yet", (self.copy / "docs/headline.md").read_text())
        self.assertIn("Not measured yet", (self.copy / "README.md").read_text())
        self.assertIn("examples/peers/drawn.json` makes such", (self.copy / "docs/peers.md").read_text())
        self.assertEqual(self.script("--check").returncode, 0)

    def test_our_best_beside_the_best_peer(self):
        self.put("headline.json", [record("chunk_fused", 0.4), record("chunk_sm90", 0.2)],
                 "2026-01-01T10:00:00Z")
        self.put("peers.json", [peer("fla.chunk_gla", 1.3), peer("fla.fused_chunk_gla", 1.5),
                                peer("fla.chunk_gla.eager", 1.2)], "2026-01-01T11:00:00Z")
        self.assertEqual(self.script("--check").returncode, 1)
        # 4e8 bytes at 4e12 a second are 0.1 ms.
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[2:],
                         ["`chunk_sm90`", "stages=3", "0.2000", "-", "50 %", "1.250",
                          "`fla.chunk_gla`", "1.300", "-", "6.50", "0.2", "met"])
        self.assertEqual(self.row("gla, `strong`", "8,4096,16,128,128")[-1], "not measured")
        self.assertEqual(self.script("--check").returncode, 0)

    def test_what_stays_in_the_cache_is_told_by_the_sustained_times(self):
        def sustained(row, ms, left_behind):
            row["timing"]["sustained"], row["timing"]["sustained_copies"] = series(ms), 2
            if "measured" in row["io"]:
                row["io"]["measured"]["written_back_bytes"] = left_behind
            return row

        theirs = sustained(peer("fla.chunk_gla", 1.3), 1.5, 0)
        self.put("peers.json", [theirs], "2026-01-01T10:00:00Z")
        for left, share, ratio in ((1e7, "50 %", "6.50"), (3e7, "40 % \u00a7", "6.00 \u00a7")):
            self.put("headline.json", [sustained(record("chunk_sm90", 0.2), 0.25, left)],
                     "2026-01-01T10:00:00Z")
            row = self.row("gla", "8,4096,16,128,128")
            self.assertEqual(row[4:6] + row[9:12],
                             ["0.2000", "0.2500", "1.300", "1.500", ratio])
            self.assertEqual(row[6], share)
        self.assertIn("in the cache", (self.copy / "docs/headline.md").read_text())

    def test_the_readme_has_five_rows_of_it_without_tiles(self):
        self.put("headline.json", [record("chunk_fused", 0.4), record("chunk_sm90", 0.2)],
                 "2026-01-01T10:00:00Z")
        self.put("peers.json", [peer("fla.chunk_gla", 1.3)], "2026-01-01T11:00:00Z")
        short = self.table("README.md", "headline_short")[2:]
        self.assertEqual(len(short), 5)
        self.assertEqual(short[0], ["gla", "8,4096,16,128,128", "0.2000", "1.300", "6.50", "50 %"])
        (self.copy / "README.md").write_text(
            (self.copy / "README.md").read_text().replace("| 6.50 |", "| 6.51 |"))
        stale = self.script("--check")
        self.assertEqual(stale.returncode, 1)
        self.assertIn("README.md: tables", stale.stdout)

    def test_the_program_decides_which_tile_stands_for_its_variant(self):
        suspect = record("chunk_sm90", 0.1, tile={"stages": 2})
        suspect["timing"].update(suspect=True, suspect_check="floor")
        self.put("headline.json", [suspect, record("chunk_sm90", 0.25, tile={"stages": 4}),
                                   record("chunk_sm90", 0.2)], "2026-01-01T10:00:00Z")
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[2:5],
                         ["`chunk_sm90`", "stages=3", "0.2000"])

    def test_a_missed_target_is_told_with_what_bounds_it(self):
        targets = self.copy / "results" / "headline_targets.txt"
        self.put("headline.json", [record("chunk_sm90", 0.21)], "2026-01-01T10:00:00Z")
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[-1], "**missed**")
        targets.write_text(targets.read_text().replace("128,128 0.20\n", "128,128 0.20: latency\n"))
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[-1], "**missed**: latency")

    def test_spills_of_the_winner_are_told(self):
        build = {**TEMPLATE["build"], "spill_bytes": 172}
        self.put("headline.json", [record("chunk_sm90", 0.2, build=build)], "2026-01-01T10:00:00Z")
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[-1], "met (spills 172 bytes)")

    def test_what_is_wrong_or_of_another_time_does_not_count(self):
        self.put("headline.json", [wrong("chunk_sm90", 0.1), record("chunk_fused", 0.4)],
                 "2026-01-01T10:00:00Z")
        for facts in ({"uuid": "GPU-2"}, {"driver": "590"}, {"started": "2026-01-02T10:00:00Z"},
                      {"uuid": ""}):
            self.put("peers.json", [peer("fla.chunk_gla", 1.3)],
                     **{"started": "2026-01-01T10:00:00Z", **facts})
            row = self.row("gla", "8,4096,16,128,128")
            self.assertEqual(row[2], "`chunk_fused`")
            self.assertEqual(row[8:12], ["-", "-", "-", "-"], facts)
        self.put("peers.json", [wrong("fla.chunk_gla", 1.3, peer=True)], "2026-01-01T10:00:00Z")
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[8], "-")

    def test_a_peer_on_another_device_of_the_model_is_marked(self):
        run = {"started": "2026-01-01T10:00:00Z", "device": "H200"}
        self.put("headline.json", [record("chunk_sm90", 0.2)], **run)
        self.put("peers.json", [peer("fla.chunk_gla", 1.3)], **{**run, "uuid": "GPU-2"})
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[8:12],
                         ["`fla.chunk_gla`", "1.300 \u2020", "-", "6.50"])
        self.assertIn("another device of the same model",
                      (self.copy / "docs/headline.md").read_text())
        self.put("others.json", [peer("fla.slow_gla", 1.6)], **run)
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[8:10], ["`fla.slow_gla`", "1.600"])
        self.put("others.json", [peer("fla.slow_gla", 1.6)], **{**run, "uuid": "", "device": "H100"})
        self.assertEqual(self.row("gla", "8,4096,16,128,128")[8], "`fla.chunk_gla`")

    def test_the_targets_are_the_problems_of_the_config(self):
        config = json.loads((ROOT / "configs/h200/headline.json").read_text())
        asked = {(s["operator"], s["gates"][0], ",".join(str(v) for v in shape.values()))
                 for s in config["sweeps"] for shape in s["shapes"]}
        told = {tuple(line.split()[:3])
                for line in (ROOT / "results/headline_targets.txt").read_text().splitlines()
                if not line.startswith("#")}
        self.assertEqual(asked, told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
