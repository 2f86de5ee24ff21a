"""Other projects' functions as candidates, and the examples of what is refused: peers_test.py GLA_BENCH SOURCE_DIR

Neither their packages nor a GPU is needed: how the functions describe themselves, and what they hand over to functions
of the same names that stand in for them here. tests/peers/ has the records.
"""

import ast
import contextlib
import inspect
import io
import os
import pathlib
import subprocess
import sys
import types
import unittest
import unittest.mock

built, source = sys.argv[1], pathlib.Path(sys.argv[2])
os.environ["GLA_BENCH_PROGRAM"] = built
peers_folder = source / "examples/peers"
sys.path[:0] = [str(peers_folder), str(source / "examples/wrong")]

import gla_bench  # noqa: E402 (after the path to it)
import calls  # noqa: E402
import flash_linear_attention as fla_peers  # noqa: E402
import late_decay  # noqa: E402
import sdpa  # noqa: E402
import triton_cache  # noqa: E402

PEERS = [(module, name, function.__gla_bench_candidate__) for module in (fla_peers, sdpa)
         for name, function in vars(module).items() if hasattr(function, "__gla_bench_candidate__")]
RECURRENCES = ("gla", "simple_gla", "retention", "rwkv6", "linear_attention")


class Descriptions(unittest.TestCase):
    def test_every_operator_has_a_peer_in_both_directions(self):
        found = {(description.operator, description.direction) for _, _, description in PEERS}
        both = {(operator, direction) for direction in ("forward", "backward")
                for operator in (*RECURRENCES, "attention", "decay_attention")}
        self.assertEqual(found, both | {(operator, "training") for operator in RECURRENCES})

    def test_all_of_them_are_peers(self):
        for _, name, description in PEERS:
            self.assertIs(description.peer, True, name)

    def test_the_program_takes_all_of_them(self):
        command = [built, "list"]
        for module, name, _ in PEERS:
            command += ["--candidates", f"{module.__file__}:{name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "GLA_BENCH_PYTHON": sys.executable})
        self.assertEqual(done.returncode, 0, done.stderr)
        for _, _, description in PEERS:
            self.assertRegex(done.stdout, rf"cuda: .*\b{description.variant}\b")

    def test_a_kernel_that_does_not_compile_is_said_and_counted(self):
        def refuses():
            raise ImportError("planted")

        described = types.SimpleNamespace(operator="gla", arguments=[])
        peers = types.SimpleNamespace(right=lambda: None, refuses=refuses)
        for name in ("right", "refuses"):
            getattr(peers, name).__gla_bench_candidate__ = described
        torch = types.SimpleNamespace(bfloat16=None, cuda=types.SimpleNamespace(synchronize=lambda: None))
        said = io.StringIO()
        with unittest.mock.patch.dict(sys.modules, torch=torch, flash_linear_attention=peers), \
                unittest.mock.patch.object(triton_cache, "tensors", lambda *_: {}), \
                contextlib.redirect_stderr(said):
            self.assertEqual(triton_cache.compile_functions(["right"], [64], 16, ["bfloat16"]), 0)
            self.assertEqual(triton_cache.compile_functions(["right", "refuses"], [64, 128], 16, ["bfloat16"]), 2)
        self.assertEqual(said.getvalue().count("ImportError: planted"), 2)

    def test_their_packages_are_imported_only_when_they_are_called(self):
        for path in peers_folder.glob("*.py"):
            for node in ast.parse(path.read_text()).body:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                    [node.module] if isinstance(node, ast.ImportFrom) else []
                self.assertFalse({name.split(".")[0] for name in names} & {"torch", "triton", "fla"}, path.name)

    def test_edits_of_what_they_share_make_their_records_stale(self):
        for module, _, description in PEERS:
            expected = {"calls.py"} | ({"triton_cache.py"} if module is fla_peers else set())
            self.assertEqual(set(description.files), expected)

    def test_captured_and_as_called_are_two_tiles(self):
        for _, name, description in PEERS:
            self.assertEqual(description.tile, {"graph": [1, 0]}, name)
            self.assertIn("graph", description.arguments)


class Arguments(unittest.TestCase):
    """What reaches a package's functions, of which stand-ins keep their arguments."""

    def setUp(self):
        self.seen = {}
        calls.found.cache_clear()
        self.addCleanup(calls.found.cache_clear)
        prepare, triton_cache.prepare = triton_cache.prepare, lambda: None
        self.addCleanup(setattr, triton_cache, "prepare", prepare)
        names = [name for operator in ("gla", "simple_gla", "rwkv6", "linear_attn", "forgetting_attn")
                 for name in (f"fla.ops.{operator}",)]
        for name in ("fla", "fla.ops", *names):
            module = types.ModuleType(name)
            module.__getattr__ = self.stand_in
            sys.modules[name] = module
            self.addCleanup(sys.modules.pop, name)

    def stand_in(self, name):
        def function(*positional, **named):
            self.seen = {"function": name, "positional": positional, **named}
            return "o", "state"
        return function

    def call(self, function, **more):
        arguments = {name: name for name in inspect.signature(function).parameters
                     if name not in ("graph", "initial_state")}
        arguments.update(more)
        return function(**arguments)

    def test_each_function_gets_its_own_names(self):
        self.assertEqual(self.call(fla_peers.chunk_gla), ("o", "state"))
        self.assertEqual(self.seen, {"function": "chunk_gla", "positional": (), "q": "q", "k": "k", "v": "v", "g": "g",
                                     "scale": "scale", "initial_state": None, "output_final_state": True})
        self.call(fla_peers.fused_recurrent_gla, initial_state="s")
        self.assertEqual((self.seen["gk"], self.seen["initial_state"], "g" in self.seen), ("g", "s", False))
        self.call(fla_peers.chunk_rwkv6)
        self.assertEqual([self.seen[name] for name in ("r", "w", "u")], ["q", "w", "u"])
        self.call(fla_peers.chunk_linear_attn)
        self.assertIs(self.seen["normalize"], False)

    def test_what_is_not_installed_is_the_errors_text(self):
        for name in [name for name in sys.modules if name.split(".")[0] == "fla"]:
            sys.modules[name] = None
        with self.assertRaises(ImportError):
            self.call(fla_peers.chunk_gla)


class Wrong(unittest.TestCase):
    def test_a_decay_that_comes_late_is_told_by_the_first_token_that_is_wrong(self):
        results = gla_bench.check(late_decay.late_decay_in_numpy, batch=2, seq=200, heads=3, key_dim=16, value_dim=24,
                                  gates=["typical"])
        (record,) = results.failures()
        self.assertEqual(record.status, "wrong")
        self.assertRegex(record.reason, r"'o': rel_l2 \S+ above its bound .*'o' is wrong in 18 of 18 chunks, first in "
                                        r"tokens 0 to 63 of batch 0, head 0: \[0,1,0,\d+\] is \S+, expected ")

    def test_the_race_lacks_one_barrier_of_the_kernel_that_is_right(self):
        def code(path):
            lines = (source / "examples" / path).read_text().splitlines()
            stripped = [line.split("//")[0].strip().replace("racy_", "naive_") for line in lines]
            return [line for line in stripped if line]
        right, racy = code("naive_rwkv6.cu"), code("wrong/racy_rwkv6.cu")
        barrier = "__syncthreads();"
        self.assertEqual((right.count(barrier), racy.count(barrier)), (2, 1))
        right.remove(barrier)
        self.assertEqual("".join(right).replace(" ", ""), "".join(racy).replace(" ", ""))

    def test_the_program_takes_both_kernels(self):
        for name, path in (("naive_rwkv6", "naive_rwkv6.json"), ("racy_rwkv6", "wrong/racy_rwkv6.json")):
            done = subprocess.run([built, "list", "rwkv6", "--candidates", source / "examples" / path],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{name} [cuda]", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
