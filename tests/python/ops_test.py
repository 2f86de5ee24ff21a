"""gla_bench.ops on the host, against float64 in torch: ops_test.py GLA_BENCH SOURCE_DIR

Without PyTorch it is skipped (exit code 77).
"""

import os
import pathlib
import subprocess
import sys
import unittest

os.environ["GLA_BENCH_PROGRAM"] = sys.argv[1]
source = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(pathlib.Path(__file__).parent))

SKIPPED = 77
try:
    import torch
    import torch.utils.checkpoint
except ImportError as error:
    print(f"skipped: gla_bench.ops needs PyTorch: {error}")
    sys.exit(SKIPPED)

import float64_ops  # noqa: E402 (after what it needs was found)
import gla_bench  # noqa: E402
from gla_bench import ops  # noqa: E402
from ops_problems import (B, H, K, T, V, attentions, boundaries, decays, float64_of, is_float,  # noqa: E402
                          normal, qkv, recurrences, rel_l2)

# Of float32 against float64; the sums are short here.
BOUND = 2e-5


class Forward(unittest.TestCase):
    def compare(self, function, tensors, more, wanted, bound=BOUND):
        expected, _ = float64_of(function, tensors, more)
        found = function(*tensors, **more, **{wanted: True})
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertEqual(one.shape, other.shape)
            self.assertLess(rel_l2(one, other), bound, f"{function.__name__} {more}")

    def test_recurrences(self):
        for function, tensors, more in recurrences():
            self.compare(function, tensors, more, "output_final_state")

    def test_attention(self):
        for function, tensors, more in attentions():
            self.compare(function, tensors, more, "output_lse")

    def test_ragged_attention(self):
        q, k, v = qkv(batch=1)
        for more in ({"cu_seqlens": boundaries(5, 0, 20, 12)},
                     {"cu_seqlens": boundaries(4, 13, 20), "cu_seqlens_k": boundaries(10, 20, 7)}):
            self.compare(ops.attention, [q, k, v], {**more, "causal": False}, "output_lse")
        self.assertRaises(TypeError, ops.attention, q, k, v, cu_seqlens_k=boundaries(T))

    def test_softmax(self):
        for shape in ((3, 100), (2, 5, 33), (17,)):
            x = normal(*shape)
            self.assertLess(rel_l2(ops.softmax(x, scale=1.5), float64_ops.softmax(x.double(), scale=1.5)), BOUND)
        rows = torch.full((2, 4), -torch.inf)
        self.assertTrue(torch.equal(ops.softmax(rows), torch.zeros(2, 4)))

    def test_states_in_and_out(self):
        for function, tensors, more in recurrences():
            more = {**more, "initial_state": normal(B, H, K, V, seed=7)}
            if more.get("normalize"):
                more["initial_normalizer"] = normal(B, H, K, seed=8).abs() + 1
            self.compare(function, tensors, more, "output_final_state")

    def test_ragged_sequences(self):
        tensors = [*qkv(batch=1), decays(1, T, H, K)]
        more = {"cu_seqlens": boundaries(5, 0, 20, 12), "initial_state": normal(4, H, K, V, seed=7)}
        self.compare(ops.gla, tensors, more, "output_final_state")
        _, state = ops.gla(*tensors, **more, output_final_state=True)
        self.assertTrue(torch.equal(state[1], more["initial_state"][1]))

    def test_dtypes(self):
        for dtype, bound in ((torch.bfloat16, 1e-2), (torch.float16, 2e-3)):
            tensors = [*qkv(dtype=dtype), decays(B, T, H, K, dtype=dtype)]
            self.compare(ops.gla, tensors, {}, "output_final_state", bound)
            self.compare(ops.attention, tensors[:3], {}, "output_lse", bound)
            self.assertEqual(ops.gla(*tensors)[0].dtype, dtype)
            tensors[3] = decays(B, T, H, K)  # gates stay in float32
            self.compare(ops.gla, tensors, {}, "output_final_state", bound)
            state = {"initial_state": normal(B, H, K, V, dtype=torch.bfloat16)}
            self.compare(ops.gla, tensors, state, "output_final_state", 1e-2)
            found = ops.gla(*tensors, **state, output_final_state=True)[1]
            self.assertEqual(found.dtype, torch.bfloat16)

    def test_memory_of_all_kinds(self):
        tensors = [*qkv(), decays(B, T, H, K)]
        expected = ops.gla(*tensors)[0]
        heads = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors]
        found = ops.gla(*heads)[0]
        self.assertEqual(ops.plan(ops.gla, *heads).layout, "head_first")
        self.assertTrue(found.transpose(1, 2).is_contiguous())
        self.assertLess(rel_l2(found, expected), BOUND)
        rows = torch.cat([tensor.flatten(2) for tensor in tensors[:3]], -1)
        slices = [part.view(B, T, H, -1) for part in rows.split([H * K, H * K, H * V], -1)]
        self.assertEqual(ops.plan(ops.gla, *slices, tensors[3]).options, {"packed": "true"})
        self.assertLess(rel_l2(ops.gla(*slices, tensors[3])[0], expected), BOUND)
        swapped = normal(B, H, V, K, seed=7).transpose(2, 3)
        self.compare(ops.gla, tensors, {"initial_state": swapped}, "output_final_state")
        state = ops.gla(*tensors, initial_state=swapped, output_final_state=True)[1]
        self.assertEqual(state.stride(), swapped.stride())

    def test_memory_is_read_and_written_where_it_lies(self):
        tensors = [*qkv(), decays(B, T, H, K)]
        before = [tensor.clone() for tensor in tensors]
        ops.gla(*tensors)
        for tensor, earlier in zip(tensors, before):
            self.assertTrue(torch.equal(tensor, earlier))

    def test_one_token(self):
        tensors = [*qkv(seq=1), decays(B, 1, H, K)]
        self.compare(ops.gla, tensors, {"initial_state": normal(B, H, K, V, seed=7)}, "output_final_state")


class Backward(unittest.TestCase):
    def compare(self, function, tensors, more, wanted, bound=BOUND, through=None):
        """Gradients of a sum of all outputs with weights, against those of float64."""
        expected, references = float64_of(function, tensors, more)
        more = {name: value.detach().requires_grad_() if is_float(value) else value for name, value in more.items()}
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        found = function(*leaves, **more, **wanted)
        found = found if isinstance(found, tuple) else (found,)
        leaves += [value for value in more.values() if is_float(value)]
        chosen = range(len(expected)) if through is None else through
        weights = {index: normal(*expected[index].shape, seed=40 + index) for index in chosen}
        sum((found[index].float() * weights[index]).sum() for index in chosen).backward()
        sum((expected[index] * weights[index].double()).sum() for index in chosen).backward()
        for place, (leaf, reference) in enumerate(zip(leaves, references)):
            name = f"{function.__name__} {list(more)}: gradient {place}"
            if reference.grad is None:
                self.assertTrue(leaf.grad is None or not leaf.grad.any(), name)
                continue
            self.assertEqual(leaf.grad.dtype, leaf.dtype, name)
            self.assertLess(rel_l2(leaf.grad, reference.grad), bound, name)

    def test_recurrences(self):
        for function, tensors, more in recurrences():
            self.compare(function, tensors, more, {"output_final_state": True})
            self.compare(function, tensors, more, {}, through=[0])

    def test_states(self):
        for function, tensors, more in recurrences():
            more = {**more, "initial_state": normal(B, H, K, V, seed=7)}
            if more.get("normalize"):
                more["initial_normalizer"] = normal(B, H, K, seed=8).abs() + 1
            self.compare(function, tensors, more, {"output_final_state": True})
            self.compare(function, tensors, more, {"output_final_state": True}, through=[1])

    def test_attention(self):
        for function, tensors, more in attentions():
            self.compare(function, tensors, more, {}, through=[0])

    def test_ragged_sequences(self):
        self.compare(ops.gla, [*qkv(batch=1), decays(1, T, H, K)], {"cu_seqlens": boundaries(5, 0, 20, 12)},
                     {"output_final_state": True})

    def test_dtypes_and_memory(self):
        tensors = [*qkv(dtype=torch.bfloat16), decays(B, T, H, K)]
        self.compare(ops.gla, tensors, {}, {}, 2e-2, through=[0])
        heads = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in (*qkv(), decays(B, T, H, K))]
        swapped = normal(B, H, V, K, seed=7).transpose(2, 3)
        self.compare(ops.gla, heads, {"initial_state": swapped}, {"output_final_state": True})
        self.compare(ops.attention, heads[:3], {}, {}, through=[0])

    def test_slices_of_a_projection(self):
        weight = normal(8, H * (2 * K + V), seed=3).requires_grad_()
        x = normal(B, T, 8)
        parts = (x @ weight).split([H * K, H * K, H * V], -1)
        o, _ = ops.gla(*(part.view(B, T, H, -1) for part in parts), decays(B, T, H, K))
        o.sum().backward()  # its gradient is expanded
        reference = weight.detach().double().requires_grad_()
        parts = (x.double() @ reference).split([H * K, H * K, H * V], -1)
        o, _ = float64_ops.gla(*(part.view(B, T, H, -1) for part in parts), decays(B, T, H, K).double())
        o.sum().backward()
        self.assertLess(rel_l2(weight.grad, reference.grad), BOUND)

    def test_checkpoints_compute_the_forward_again(self):
        tensors = [tensor.requires_grad_() for tensor in qkv()]
        expected = torch.autograd.grad(ops.attention(*tensors).square().sum(), tensors)
        with ops.record() as ran:
            o = torch.utils.checkpoint.checkpoint(ops.attention, *tensors, use_reentrant=False)
            found = torch.autograd.grad(o.square().sum(), tensors)
        self.assertEqual([one.direction for one in ran], ["forward", "forward", "backward"])
        for one, other in zip(found, expected):
            self.assertTrue(torch.equal(one, other))

    def test_what_has_none(self):
        with self.assertRaisesRegex(NotImplementedError, "softmax has no backward"):
            ops.softmax(normal(2, 5).requires_grad_()).sum().backward()
        with self.assertRaisesRegex(NotImplementedError, "softmax has no backward"):
            ops.plan(ops.softmax, normal(2, 5), direction="backward")
        q, k, v = (tensor.requires_grad_() for tensor in qkv())
        _, lse = ops.attention(q, k, v, output_lse=True)
        self.assertFalse(lse.requires_grad)
        o, _ = ops.linear_attention(q, k, v)
        (gradient,) = torch.autograd.grad(o.square().sum(), q, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "no second derivative"):
            gradient.sum().backward()


class Torch(unittest.TestCase):
    def test_operators_keep_torch_s_rules(self):
        rest = (None, True, "", "auto", "", "auto", "")
        tensors = [tensor.requires_grad_() for tensor in (*qkv(seq=9), decays(B, 9, H, K))]
        torch.library.opcheck(torch.ops.gla_bench.gla, (*tensors, normal(B, H, K, V), None, *rest))
        head_first = [tensor.detach().transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors]
        torch.library.opcheck(torch.ops.gla_bench.gla, (*head_first, None, None, *rest))
        torch.library.opcheck(torch.ops.gla_bench.linear_attention,
                              (*tensors[:3], None, None, None, None, True, "normalize=true,"
                               "feature_map=elu_plus_one", "auto", "", "auto", ""))
        torch.library.opcheck(torch.ops.gla_bench.attention, (*tensors[:3], None, None, *rest))
        back = (None, "", "auto", "")
        inputs = [tensor.detach() for tensor in tensors]
        torch.library.opcheck(torch.ops.gla_bench.gla_backward,
                              (*inputs, normal(B, H, K, V), None, inputs[2], normal(B, H, K, V), *back))
        o, lse = ops.attention(*inputs[:3], output_lse=True)
        torch.library.opcheck(torch.ops.gla_bench.attention_backward,
                              (*inputs[:3], None, None, o, lse, inputs[2], *back))
        torch.library.opcheck(torch.ops.gla_bench.softmax, (normal(3, 7), *rest))

    def test_shapes_alone(self):
        for function, tensors, more in [*recurrences(), *attentions()]:
            meta = [tensor.to("meta") for tensor in tensors]
            found, expected = function(*meta, **more), function(*tensors, **more)
            for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected))):
                if other is not None:
                    self.assertEqual((one.shape, one.dtype, one.stride()),
                                     (other.shape, other.dtype, other.stride()))

    def test_compiled_graphs_hold_the_operator_whole(self):
        def block(q, k, v, g):
            o, state = ops.gla(torch.sin(q), k, v, g, output_final_state=True)
            return (o * 2).sum() + state.sum()

        tensors = [*qkv(seq=9), decays(B, 9, H, K)]
        compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
        leaves = [[tensor.clone().requires_grad_() for tensor in tensors] for _ in range(2)]
        expected, found = block(*leaves[0]), compiled(*leaves[1])
        self.assertLess(abs(found.item() - expected.item()), 1e-3 * abs(expected.item()))
        expected.backward()
        found.backward()
        for one, other in zip(*leaves):
            self.assertLess(rel_l2(other.grad, one.grad), BOUND)

    def test_exported_programs_hold_it(self):
        class Block(torch.nn.Module):
            def forward(self, q, k, v):
                return ops.attention(q, k, v)

        exported = torch.export.export(Block(), tuple(qkv(seq=9)))
        self.assertIn("gla_bench.attention", str(exported.graph))
        self.assertTrue(torch.equal(exported.module()(*qkv(seq=9)), ops.attention(*qkv(seq=9))))


class Choice(unittest.TestCase):
    def test_what_would_run_is_what_runs(self):
        tensors = [*qkv(), decays(B, T, H, K)]
        planned = ops.plan(ops.gla, *tensors)
        with ops.record() as ran:
            ops.gla(*[tensor.requires_grad_() for tensor in tensors])[0].sum().backward()
        self.assertEqual([one.direction for one in ran], ["forward", "backward"])
        self.assertEqual((ran[0].variant, ran[0].tile), (planned.variant, planned.tile))
        later = ops.plan("gla", *tensors, direction="backward")
        self.assertEqual((ran[1].variant, ran[1].tile), (later.variant, later.tile))
        self.assertEqual(planned.backend, "host")
        self.assertEqual(planned.shape["key_dim"], K)
        self.assertIn(planned.chosen_by["how"], ("bucket", "nearest", "model", "default"))

    def test_the_program_chooses_the_same(self):
        tensors = qkv(batch=1, seq=64, heads=2, keys=32, values=32)
        config = {"backend": "host", "sweeps": [
            {"operator": "linear_attention", "dtypes": ["float32"], "variants": ["auto"],
             "final_state": False, "shapes": [[1, 64, 2, 32, 32]]}]}
        (record,) = gla_bench.verify(config)
        planned = ops.plan(ops.linear_attention, *tensors)
        self.assertEqual((planned.variant, planned.tile), (record.variant, record.tile))

    def test_wishes(self):
        tensors = [*qkv(), decays(B, T, H, K)]
        for variant in ("recurrent", "chunk_fused", "parallel"):
            with ops.record() as ran:
                o, _ = ops.gla(*tensors, variant=variant)
            self.assertEqual([one.variant for one in ran], [variant])
            self.assertIsNone(ran[0].chosen_by)
            self.assertLess(rel_l2(o, float64_of(ops.gla, tensors, {})[0][0]), BOUND)
        planned = ops.plan(ops.gla, *tensors, variant="chunk_fused", tile={"chunk": 32})
        self.assertEqual(planned.tile["chunk"], 32)
        self.assertEqual(ops.plan(ops.gla, *tensors, variant="chunk_fused", tile="chunk=32").tile, planned.tile)
        backward = ops.plan(ops.gla, *tensors, direction="backward", backward_variant="recurrent")
        self.assertEqual(backward.variant, "recurrent")

    def test_a_table_of_one_s_own(self):
        with self.assertRaisesRegex(ValueError, "nvidia-h200.json: is a table for NVIDIA H200, and not for"):
            ops.configure(tuned=str(source / "results/tuned/nvidia-h200.json"))
            ops.plan(ops.softmax, normal(2, 5))
        ops.configure()
        self.assertEqual(ops.plan(ops.softmax, normal(2, 5)).operator, "softmax")


class WrongInput(unittest.TestCase):
    def refuses(self, kind, pattern, function, *arguments, **more):
        with self.assertRaisesRegex(kind, pattern):
            function(*arguments, **more)

    def test_dtypes(self):
        q, k, v = qkv()
        g = decays(B, T, H, K)
        self.refuses(TypeError, "q is float64.*expected float32, bfloat16 or float16", ops.gla, q.double(), k, v, g)
        self.refuses(TypeError, "k is bfloat16 .*expected float32", ops.gla, q, k.bfloat16(), v, g)
        self.refuses(TypeError, "log_decay is float16 .*expected bfloat16 or float32", ops.gla,
                     *qkv(dtype=torch.bfloat16), g.half())
        self.refuses(TypeError, "cu_seqlens is int64", ops.gla, *qkv(batch=1), decays(1, T, H, K),
                     cu_seqlens=boundaries(T).long())
        self.refuses(TypeError, "v is list; expected a torch.Tensor", ops.gla, q, k, [1], g)

    def test_shapes(self):
        q, k, v = qkv()
        g = decays(B, T, H, K)
        self.refuses(ValueError, r"k is float32 \[2, 36, 3, 16\].*expected the shape \[2, 37, 3, 16\]", ops.gla,
                     q, k[:, 1:], v, g)
        self.refuses(ValueError, r"log_decay is float32 \[2, 37, 3\] .*expected the shape \[2, 37, 3, 16\], for B=2 T=37",
                     ops.gla, q, k, v, g[..., 0])
        self.refuses(ValueError, r"v is \[2, 37, 72\]; expected 4 axes", ops.gla, q, k, v.flatten(2), g)
        self.refuses(ValueError, "initial_state is float32", ops.gla, q, k, v, g, initial_state=normal(B, H, V, K))
        self.refuses(ValueError, "whole extents of at least 1", ops.gla, q[:0], k[:0], v[:0], g[:0])
        self.refuses(ValueError, "found key_dim=600, expected at most 512", ops.gla, *qkv(keys=600), decays(B, T, H, 600))
        self.refuses(ValueError, "batch must be 1", ops.gla, q, k, v, g, cu_seqlens=boundaries(T))
        self.refuses(ValueError, "heads is not a multiple of key_heads", ops.attention, q, k[:, :, :2].contiguous(),
                     v[:, :, :2].contiguous())

    def test_boundaries(self):
        tensors = [*qkv(batch=1), decays(1, T, H, K)]
        self.refuses(ValueError, "cu_seqlens goes from 0 to 36; expected 0 to the 37 tokens", ops.gla, *tensors,
                     cu_seqlens=boundaries(30, 6))
        self.refuses(ValueError, "cu_seqlens falls from 40 to 37", ops.gla, *tensors, cu_seqlens=boundaries(40, -3))

    def test_strides(self):
        q, k, v = qkv()
        g = decays(B, T, H, K)
        wide = normal(B, T, H, 2 * K)[..., :K]
        self.refuses(ValueError, r"k is float32 .* with strides \[3552, 96, 32, 1\]; expected the strides "
                     r"\[1776, 48, 16, 1\] of seq_first memory.*contiguous", ops.gla, q, wide, v, g)
        self.refuses(ValueError, "v is float32 .*of seq_first memory", ops.gla, q, k,
                     v.transpose(1, 2).contiguous().transpose(1, 2), g)
        self.refuses(ValueError, "expected a contiguous tensor", ops.softmax, normal(4, 4).t())

    def test_devices(self):
        q, k, v = qkv()
        self.refuses(ValueError, "q is on meta; expected cpu or cuda", ops.plan, ops.attention,
                     *(tensor.to("meta") for tensor in qkv()))
        self.refuses(ValueError, "k is on meta; expected cpu, where q is", ops.plan, ops.attention, q, k.to("meta"), v)

    def test_choices(self):
        tensors = [*qkv(), decays(B, T, H, K)]
        self.refuses(ValueError, "found the variant 'fastest', expected auto, .*recurrent", ops.gla, *tensors,
                     variant="fastest")
        self.refuses(ValueError, "no tile axis 'width'; expected one of", ops.gla, *tensors, variant="recurrent",
                     tile="width=3")
        self.refuses(ValueError, "without a variant", ops.gla, *tensors, tile={"chunk": 64})
        self.refuses(ValueError, "found the tile 'chunk', expected axes with numbers", ops.gla, *tensors,
                     variant="chunk_fused", tile="chunk")
        self.refuses(ValueError, "parallel_cublas .*refuses gla forward .*: whole score matrices", ops.plan, ops.gla,
                     *qkv(1, 140000, 1, 1, 1), decays(1, 140000, 1, 1), variant="parallel_cublas")
        self.refuses(ValueError, "feature_map='relu', expected identity or elu_plus_one", ops.linear_attention,
                     *tensors[:3], feature_map="relu")
        self.refuses(ValueError, "expected both or none", ops.linear_attention, *tensors[:3], normalize=True,
                     initial_state=normal(B, H, K, V))
        self.refuses(ValueError, "found 'gla_layer', expected one of gla", ops.plan, "gla_layer", *tensors)
        self.refuses(ValueError, "direction='sideways'", ops.plan, "gla", *tensors, direction="sideways")


class Example(unittest.TestCase):
    def test_a_model_learns(self):
        run = subprocess.run([sys.executable, str(source / "examples/train_gla.py"), "--device", "cpu", "--steps", "12",
                              "--width", "32", "--seq", "64", "--batch", "2"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("gla_bench.ops", run.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1, warnings="ignore")
