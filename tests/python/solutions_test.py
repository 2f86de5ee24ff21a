"""Solutions of flashinfer-bench as candidates: solutions_test.py GLA_BENCH SOURCE_DIR

The solutions here are in NumPy, so that they run where there is neither PyTorch nor a GPU. Where its package's models
are there (scripts/setup.sh), they have to take the same files.
"""

import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

built, source = sys.argv[1], pathlib.Path(sys.argv[2])
os.environ["GLA_BENCH_PROGRAM"] = built

import gla_bench  # noqa: E402 (after the path to it)
from gla_bench import flashinfer  # noqa: E402

LONG, WIDE = ["batch", "seq", "heads", "key_dim"], ["batch", "seq", "heads", "value_dim"]
DEFINITION = {
    "name": "gla_forward_float32_k16_v24", "op_type": "gla",
    "axes": {"batch": {"type": "var"}, "seq": {"type": "var"}, "heads": {"type": "var"},
             "key_dim": {"type": "const", "value": 16}, "value_dim": {"type": "const", "value": 24}},
    "inputs": {"q": {"shape": LONG, "dtype": "float32"}, "k": {"shape": LONG, "dtype": "float32"},
               "v": {"shape": WIDE, "dtype": "float32"}, "g": {"shape": LONG, "dtype": "float32"},
               "scale": {"shape": None, "dtype": "float32"}},
    "outputs": {"o": {"shape": WIDE, "dtype": "float32"},
                "final_state": {"shape": ["batch", "heads", "key_dim", "value_dim"], "dtype": "float32"}},
    "reference": "def run(q, k, v, g, scale):\n    return None\n"}
# Reads the state through a module beside it, in other folders than the entry point's.
PARTS = "def read(q, state):\n    return (q[..., None] * state).sum(-2)\n"
RUN = '''import numpy
from parts.reading import read


def run(q, k, v, g, scale{outputs}):
    state = numpy.zeros((*q.shape[:1], *q.shape[2:], v.shape[-1]), numpy.float32)
    out = numpy.empty(v.shape, v.dtype)
    for t in range(q.shape[1]):
        state = numpy.exp(g[:, t])[..., None] * state + k[:, t][..., None] * v[:, t][..., None, :]
        out[:, t] = {scale} * read(q[:, t], state)
    {end}
'''
RETURNS = {"outputs": "", "scale": "scale", "end": "return out, state"}
WRITES = {"outputs": ", o, final_state", "scale": "scale", "end": "o[...], final_state[...] = out, state"}
WORKLOADS = [{"batch": 2, "seq": 70, "heads": 3}, {"batch": 1, "seq": 33, "heads": 2}, {"batch": 2, "seq": 70, "heads": 3}]


def solution(text, passes_outputs):
    return {"name": "numpy-gla.v1", "definition": DEFINITION["name"], "author": "somebody",
            "spec": {"language": "python", "target_hardware": ["cpu"], "entry_point": "main.py::run",
                     "destination_passing_style": passes_outputs},
            "sources": [{"path": "main.py", "content": text}, {"path": "parts/reading.py", "content": PARTS}]}


def workload(number, axes):
    return {"definition": DEFINITION["name"], "solution": None, "evaluation": None,
            "workload": {"uuid": f"w{number}", "axes": axes,
                         "inputs": {**{name: {"type": "random"} for name in "qkvg"},
                                    "scale": {"type": "scalar", "value": 0.3}}}}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, document):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def take(self, given, definition=None, **more):
        return flashinfer.take(self.write("solution.json", given), self.write("d.json", definition or DEFINITION),
                               self.folder / "taken", **{"framework": "numpy", "backend": "host", **more})

    def refused(self, given, definition=None, **more):
        with self.assertRaises(gla_bench.InputError) as caught:
            self.take(given, definition, **more)
        self.assertFalse((self.folder / "taken" / "config.json").exists())
        return str(caught.exception)


class Right(Folder):
    def test_it_is_judged_on_its_workloads_whichever_way_it_gives_its_outputs(self):
        lines = "\n".join(json.dumps(workload(i, axes)) for i, axes in enumerate(WORKLOADS)) + "\n"
        for words, passes_outputs in ((RETURNS, False), (WRITES, True)):
            with self.subTest(passes_outputs=passes_outputs):
                self.setUp()
                path = self.take(solution(RUN.format(**words), passes_outputs), workloads=self.write("w.jsonl", lines))
                results = gla_bench.verify(path.parent / "config.json")
                self.assertTrue(results.ok, [record.reason for record in results])
                self.assertEqual([record.shape["seq"] for record in results if record.verified], [70, 33])
                self.assertEqual({record.variant for record in results}, {"numpy_gla_v1"})
                self.assertEqual({record.raw["scale"] for record in results}, {0.3})

    def test_what_is_wrong_is_refused_with_the_place(self):
        path = self.take(solution(RUN.format(**{**RETURNS, "scale": "scale * (1 + 0.01 * (t >= 64))"}), False))
        config = {"backend": "host", "sweeps": [{"operator": "gla", "dtypes": ["float32"], "shapes": [[2, 80, 2, 16, 24]],
                                                 "variants": ["numpy_gla_v1"]}]}
        (record,) = gla_bench.verify(config, candidates=[path]).failures()
        self.assertIn("'o' is wrong in 4 of 4 chunks, first in tokens 0 to 79 of batch 0, head 0: [0,64,0,", record.reason)

    def test_other_sizes_than_the_definitions_are_refused(self):
        path = self.take(solution(RUN.format(**RETURNS), False))
        config = {"backend": "host", "sweeps": [{"operator": "gla", "dtypes": ["float32"], "shapes": [[1, 8, 1, 8, 24]],
                                                 "variants": ["numpy_gla_v1"], "refusals_allowed": True}]}
        (record,) = gla_bench.verify(config, candidates=[path])
        self.assertEqual((record.status, record.reason), ("rejected", "is written for key_dim=16"))

    def test_the_sources_are_part_of_the_records_hash(self):
        def source_hash(text):
            self.setUp()
            path = self.take(solution(text, False))
            config = {"backend": "host", "sweeps": [{"operator": "gla", "dtypes": ["float32"],
                                                     "shapes": [[1, 3, 1, 16, 24]], "variants": ["numpy_gla_v1"]}]}
            (record,) = gla_bench.verify(config, candidates=[path])
            return record.raw["source_hash"]
        text = RUN.format(**RETURNS)
        self.assertEqual(source_hash(text), source_hash(text))
        self.assertNotEqual(source_hash(text), source_hash(text + "\nUNUSED = 1\n"))


class Refused(Folder):
    GOOD = solution(RUN.format(**RETURNS), False)

    def test_messages_name_file_pointer_what_stood_there_and_what_was_expected(self):
        for change, expected in (
                ({"definition": "other"}, r'solution.json: /definition: found "other", expected gla_forward_float32'),
                ({"name": 7}, "solution.json: /name: found 7, expected a text"),
                ({"sources": "x"}, 'solution.json: /sources: found "x", expected a list of files'),
                ({"sources": [{"path": "../main.py", "content": "x"}]},
                 'solution.json: /sources/0/path: found "../main.py", expected a path inside of the solution'),
                ({"sources": [{"path": "main.py", "content": ""}]}, "/sources/0/content: found"),
                ({"spec": {**self.GOOD["spec"], "entry_point": "gone.py::run"}},
                 'solution.json: /spec/entry_point: found "gone.py::run", expected a file of the sources'),
                ({"spec": {**self.GOOD["spec"], "language": "cobol"}},
                 'solution.json: /spec/language: found "cobol", expected one of python')):
            with self.subTest(change=change):
                self.setUp()
                self.assertIn(expected, self.refused({**self.GOOD, **change}))

    def test_definitions_of_other_operators_are_refused(self):
        self.assertIn('d.json: /op_type: found "gemm", expected gqa_ragged or an operator of this program',
                      self.refused(self.GOOD, {**DEFINITION, "op_type": "gemm"}))
        self.assertIn("d.json: /inputs/z:", self.refused(self.GOOD, {
            **DEFINITION, "inputs": {**DEFINITION["inputs"], "z": {"shape": LONG, "dtype": "float32"}}}))
        self.assertIn('d.json: /inputs/q/dtype: found "int8", expected one of float32', self.refused(self.GOOD, {
            **DEFINITION, "inputs": {**DEFINITION["inputs"], "q": {"shape": LONG, "dtype": "int8"}}}))

    def test_workloads_have_to_be_there(self):
        lines = json.dumps({**workload(0, WORKLOADS[0]), "definition": "other"})
        self.assertIn("found no workload of gla_forward", self.refused(self.GOOD, workloads=self.write("w.jsonl", lines)))
        lines = json.dumps(workload(0, {"batch": 2, "seq": "x", "heads": 1}))
        self.assertIn("w.jsonl:1: /workload/axes: found", self.refused(self.GOOD, workloads=self.write("w.jsonl", lines)))

    def test_the_command_has_exit_code_2(self):
        definition = self.write("d.json", {**DEFINITION, "op_type": "gemm"})
        done = subprocess.run([sys.executable, "-m", "gla_bench.flashinfer", self.write("s.json", self.GOOD),
                               "--definition", definition, "-o", self.folder / "out"],
                              capture_output=True, text=True, check=False, env=os.environ)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("/op_type: found", done.stderr)


class Ragged(Folder):
    """flashinfer-bench's own gqa_ragged: attention with few key heads, its sequences one behind the other."""
    HEADS, KV = ["total_q", "num_qo_heads", "head_dim"], ["total_kv", "num_kv_heads", "head_dim"]
    DEFINITION = {
        "name": "gqa_ragged_prefill_causal_h4_kv2_d16", "op_type": "gqa_ragged",
        "axes": {"num_qo_heads": {"type": "const", "value": 4}, "num_kv_heads": {"type": "const", "value": 2},
                 "head_dim": {"type": "const", "value": 16}, "len_indptr": {"type": "var"}, "total_q": {"type": "var"},
                 "total_kv": {"type": "var"}},
        "inputs": {"q": {"shape": HEADS, "dtype": "bfloat16"}, "k": {"shape": KV, "dtype": "bfloat16"},
                   "v": {"shape": KV, "dtype": "bfloat16"}, "qo_indptr": {"shape": ["len_indptr"], "dtype": "int32"},
                   "kv_indptr": {"shape": ["len_indptr"], "dtype": "int32"},
                   "sm_scale": {"shape": None, "dtype": "float32"}},
        "outputs": {"output": {"shape": HEADS, "dtype": "bfloat16"},
                    "lse": {"shape": ["total_q", "num_qo_heads"], "dtype": "float32"}},
        "reference": "def run(q, k, v, qo_indptr, kv_indptr, sm_scale):\n    return None\n"}
    ATTENTION = '''import math
import torch


def run(q, k, v, qo_indptr, kv_indptr, sm_scale):
    o, lse = torch.empty_like(q), torch.empty(q.shape[:2])
    for n in range(len(qo_indptr) - 1):
        rows, keys = slice(*qo_indptr[n:n + 2].tolist()), slice(*kv_indptr[n:n + 2].tolist())
        ours, theirs, values = (one.float().transpose(0, 1) for one in (q[rows], k[keys], v[keys]))
        theirs, values = (one.repeat_interleave(q.shape[1] // k.shape[1], 0) for one in (theirs, values))
        logits = ours @ theirs.transpose(1, 2) * sm_scale
        length, count = logits.shape[1:]
        hidden = torch.arange(count)[None] > torch.arange(length)[:, None] + count - length
        logits = logits.masked_fill(hidden, -math.inf)
        o[rows] = (logits.softmax(-1) @ values).transpose(0, 1).to(q.dtype)
        lse[rows] = logits.logsumexp(-1).transpose(0, 1) / math.log(2)
    return o, lse
'''

    def given(self, passes_outputs=False):
        return {**solution(self.ATTENTION, passes_outputs), "definition": self.DEFINITION["name"]}

    def workloads(self, **axes):
        return self.write("w.jsonl", json.dumps({"definition": self.DEFINITION["name"], "workload": {
            "axes": axes, "inputs": {}, "uuid": "w"}}))

    def test_workloads_are_problems_of_attention(self):
        path = self.take(self.given(), self.DEFINITION, framework="torch",
                         workloads=self.workloads(len_indptr=3, total_q=20, total_kv=48))
        config = json.loads((path.parent / "config.json").read_text())
        self.assertEqual(config["sweeps"][0]["shapes"], [
            {"batch": 2, "seq": 10, "heads": 4, "key_dim": 16, "value_dim": 16, "key_seq": 24, "key_heads": 2}])
        self.assertIn("sequences of one length", self.refused_again(len_indptr=3, total_q=21, total_kv=48))

    def refused_again(self, **axes):
        self.setUp()
        return self.refused(self.given(), self.DEFINITION, workloads=self.workloads(**axes))

    def test_a_solution_in_pytorch_is_right(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("there is no PyTorch")
        path = self.take(self.given(), self.DEFINITION, framework="torch",
                         workloads=self.workloads(len_indptr=3, total_q=20, total_kv=48))
        config = json.loads((path.parent / "config.json").read_text())
        del config["candidates"]  # of the file's own folder
        config["sweeps"][0]["options"] = {"lse": ["true"]}
        results = gla_bench.verify(config, candidates=[path])
        self.assertTrue(results.ok, [record.reason for record in results])
        self.assertTrue(all(record.verified for record in results))


class Models(Folder):
    def test_the_packages_own_models_take_the_same_files(self):
        root = next((pathlib.Path(path) / "flashinfer_bench" for path in sys.path
                     if (pathlib.Path(path) / "flashinfer_bench/data/trace.py").exists()), None)
        try:
            import pydantic  # noqa: F401
        except ImportError:
            root = None
        if root is None:
            self.skipTest("flashinfer-bench's models are not installed")
        for name, folder in (("flashinfer_bench", root), ("flashinfer_bench.data", root / "data")):
            package = types.ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
        models = {name: getattr(importlib.import_module(f"flashinfer_bench.data.{name.lower()}"), name)
                  for name in ("Definition", "Solution", "Trace")}
        ragged = {**solution(Ragged.ATTENTION, False), "definition": Ragged.DEFINITION["name"]}
        for definition in (DEFINITION, Ragged.DEFINITION):
            models["Definition"].model_validate(definition)
        for given in (Refused.GOOD, solution(RUN.format(**WRITES), True), ragged):
            models["Solution"].model_validate(given)
        models["Trace"].model_validate(workload(0, WORKLOADS[0]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
