#!/usr/bin/env python3
"""Tests of scripts/draw_tuning.py and of the configs that it wrote: draw_tuning_test.py SOURCE_DIR"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

source = pathlib.Path(sys.argv.pop(1))


def drawn(*arguments):
    done = subprocess.run([sys.executable, source / "scripts/draw_tuning.py", *map(str, arguments)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def pairs_of(config):
    return {(shape["key_dim"], shape["value_dim"])
            for sweep in config["sweeps"] for shape in sweep["shapes"] if "key_dim" in shape}


class DrawTuning(unittest.TestCase):
    def test_committed_configs_are_what_their_seed_gives(self):
        for path in sorted((source / "configs/tuning").glob("*.json")):
            config = json.loads(path.read_text())
            arguments = re.search(r"draw_tuning.py (.*)[.]$", config["description"]).group(1).split()
            self.assertEqual(drawn(*arguments), config, path)

    def test_a_judged_pair_is_in_no_fit(self):
        for seed in range(5):
            fit, judge = (drawn("--seed", seed, "--part", part) for part in ("fit", "judge"))
            self.assertFalse(pairs_of(fit) & pairs_of(judge))
            shapes = [shape for config in (fit, judge) for sweep in config["sweeps"]
                      for shape in sweep["shapes"]]
            self.assertEqual(len(shapes), 50)

    def test_shapes_are_of_all_sizes(self):
        shapes = [shape for seed in range(8) for part in ("fit", "judge")
                  for sweep in drawn("--seed", seed, "--part", part)["sweeps"]
                  if sweep["operator"] != "softmax" for shape in sweep["shapes"]]
        blocks = [shape["batch"] * shape["heads"] for shape in shapes]
        lengths = [shape["seq"] for shape in shapes]
        self.assertLess(min(blocks), 4)
        self.assertGreater(max(blocks), 1000)
        self.assertLess(min(lengths), 100)
        self.assertGreater(max(lengths), 50000)
        self.assertTrue(any(shape["key_dim"] & (shape["key_dim"] - 1) for shape in shapes))

    def test_directions_that_were_asked_for_are_the_only_ones(self):
        config = drawn("--seed", 3, "--pairs", 20, "--part", "fit", "--judged", 0, "--directions", "backward",
                       "training", "--operators", "gla", "attention", "softmax")
        self.assertEqual({(sweep["operator"], sweep["direction"]) for sweep in config["sweeps"]},
                         {("gla", "backward"), ("gla", "training"), ("attention", "backward"), ("softmax", "backward")})
        self.assertIn("--directions backward training", config["description"])
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            drawn("--seed", 3, "--part", "fit", "--directions", "training", "--operators", "softmax")
        self.assertIn("softmax has none of training", refused.exception.stderr)

    def test_regimes_that_were_asked_for_are_the_only_ones(self):
        config = drawn("--seed", 3, "--pairs", 12, "--part", "fit", "--judged", 0, "--gates", "typical", "strong",
                       "--directions", "training", "backward", "--operators", "gla", "simple_gla", "decay_attention")
        self.assertEqual({(sweep["operator"], *sweep["gates"]) for sweep in config["sweeps"]},
                         {("gla", "typical"), ("gla", "strong"), ("simple_gla", "typical"),
                          ("decay_attention", "typical")})
        self.assertIn("--gates typical strong", config["description"])
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            drawn("--seed", 3, "--part", "fit", "--gates", "strong", "--operators", "gla", "rwkv6")
        self.assertIn("rwkv6 is drawn with none of strong", refused.exception.stderr)

    def test_every_operator_and_direction_is_drawn(self):
        sweeps = [sweep for seed in range(4) for part in ("fit", "judge")
                  for sweep in drawn("--seed", seed, "--pairs", 36, "--part", part)["sweeps"]]
        self.assertEqual({sweep["operator"] for sweep in sweeps},
                         {"linear_attention", "retention", "simple_gla", "gla", "rwkv6", "attention",
                          "decay_attention", "softmax", "gla_layer"})
        self.assertEqual({sweep["direction"] for sweep in sweeps if sweep["operator"] == "gla"},
                         {"forward", "backward", "training"})
        for operator in ("attention", "decay_attention"):
            self.assertEqual({sweep["direction"] for sweep in sweeps if sweep["operator"] == operator},
                             {"forward", "backward"})
        self.assertTrue(any("key_seq" in shape for sweep in sweeps for shape in sweep["shapes"]))
        self.assertEqual({dtype for sweep in sweeps for dtype in sweep["dtypes"]},
                         {"bfloat16", "float16", "float32"})

    def test_pairs_that_run_out_are_an_error(self):
        done = subprocess.run([sys.executable, source / "scripts/draw_tuning.py", "--seed", "1", "--part", "fit",
                               "--pairs", "120", "--operators", "attention"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no more pairs", done.stderr)

    def test_another_seed_gives_others(self):
        self.assertNotEqual(drawn("--seed", 1, "--part", "fit"), drawn("--seed", 2, "--part", "fit"))


if __name__ == "__main__":
    unittest.main()
