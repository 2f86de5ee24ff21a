// Faults of a single call: each check of the verification is shown to fail on a planted fault,
// which is done to what a right host variant left.

#include "harness/verify/verify.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "harness/measure/checks.hpp"
#include "tests/harness/verify/faulty_variant.hpp"

namespace gla_bench {
namespace {

TEST(Verify, AnHonestVariantPasses) {
  Bench bench(small_problem());
  const Variant variant = faulty([](const LinearRecurrenceParams&) {});
  const Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_TRUE(result.deterministic);
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.reference, "host");
  ASSERT_EQ(result.tensors.size(), 2u);
  for (const auto& [name, verdict] : result.tensors) {
    EXPECT_TRUE(verdict.ok);
    EXPECT_TRUE(verdict.rel_l2 > 0 && verdict.rel_l2 <= verdict.bound) << name;
    EXPECT_TRUE(verdict.bound <= 1e-5 && verdict.baseline_rel_l2 > 0);
    EXPECT_EQ(verdict.worst.index.size(), 4u);
  }
}

TEST(Verify, OneNaN) {
  expect_fault([](const LinearRecurrenceParams& p) { row(p, 1, 149, 1)[23] = NAN; },
               check::not_finite, "'o': 1 of 14400 elements NaN or infinite, unlike the reference");
}

TEST(Verify, OneInfinity) {
  expect_fault([](const LinearRecurrenceParams& p) { row(p, 0, 0, 0)[0] = INFINITY; },
               check::not_finite, "NaN or infinite");
}

TEST(Verify, OneElementSlightlyWrong) {
  expect_fault([](const LinearRecurrenceParams& p) { row(p, 1, 77, 0)[5] += 1e-3f; }, check::rel_l2,
               "'o': ");
}

TEST(Verify, EverythingOffByATouchMoreThanTheBound) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (int i = 0; i < 14400; ++i) output(p)[i] *= 1.0f + 2e-5f;
      },
      check::rel_l2, "'o': rel_l2 2e-05 above its bound");
}

// No tf32 candidate can do better on logits that large, so the fault says what the problem asks
// for.
TEST(Verify, AFaultSaysWhereAPlainComputationHasNoRoomEither) {
  Problem problem;
  problem.op = "attention";
  problem.dtype = DType::float32;
  problem.gate = "normal";
  problem.seed = 823130282;
  problem.scale = 1;
  problem.options = {{"causal", "false"}};
  problem.shape = {.batch = 1, .seq = 76, .heads = 1, .key_dim = 72, .value_dim = 16};
  const Operator& op = *find_operator(problem.op);
  ProblemTruth truth(op, problem, op.draw(problem));
  HostTensors outputs = op.baseline(problem, truth.inputs(), Arithmetic::tf32);
  EXPECT_EQ(judge(truth, outputs, Arithmetic::tf32, default_tolerance()).fault,
            "'o': rel_l2 0.00113 above its bound 0.001 (a plain computation has 0.00113)");
  outputs = op.baseline(problem, truth.inputs(), Arithmetic::float32);
  for (float& value : outputs.at("o")) value *= 1.01f;
  EXPECT_EQ(judge(truth, outputs, Arithmetic::float32, default_tolerance()).fault.find("plain"),
            std::string::npos);
}

TEST(Verify, LastChunkLeftOut) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (long long t = 128; t < 150; ++t) std::memset(row(p, 1, t, 1), 0xff, 24 * 4);
      },
      check::unwritten, "'o': 528 of 14400 elements unwritten");
}

TEST(Verify, OneChunkWrong) {
  // Small enough for the whole tensor's bound to let it pass.
  Bench bench(small_problem());
  const Variant variant = faulty([](const LinearRecurrenceParams& p) {
    for (long long t = 128; t < 150; ++t)
      for (int i = 0; i < 24; ++i) row(p, 1, t, 1)[i] *= 1.0f + 3e-6f;
  });
  const Verification result = bench.verify(variant);
  const TensorVerdict& o = result.tensors.at("o");
  EXPECT_TRUE(o.rel_l2 <= o.bound);
  EXPECT_FALSE(o.worst_chunk_rel_l2 <= o.worst_chunk_bound);
  EXPECT_NE(result.fault.find("worst chunk"), std::string::npos) << result.fault;
  EXPECT_FALSE(result.ok);
}

TEST(Verify, OneHeadWrong) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (long long t = 0; t < p.seq; ++t) std::memcpy(row(p, 1, t, 1), row(p, 1, t, 0), 24 * 4);
      },
      check::rel_l2, "'o': rel_l2");
}

TEST(Verify, LastTokenOfTheStateForgotten) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (int i = 0; i < 16 * 24; ++i) p.final_state[i] *= 0.999f;
      },
      check::rel_l2, "'final_state': ");
}

TEST(Verify, StateOfOnePairUnwritten) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        std::memset(p.final_state + 3 * 16 * 24, 0xff, 16 * 24 * 4);
      },
      check::unwritten, "'final_state': 384 of 1536 elements unwritten");
}

TEST(Verify, WriteBehindAnOutput) {
  expect_fault([](const LinearRecurrenceParams& p) { output(p)[14400] = 0; }, check::guard_zone,
               "guard zone behind 'o' overwritten at byte 0");
}

TEST(Verify, WriteBeforeAnOutput) {
  expect_fault([](const LinearRecurrenceParams& p) { p.final_state[-1] = 1; }, check::guard_zone,
               "guard zone before 'final_state' overwritten 4 bytes before its start");
}

TEST(Verify, WriteBehindTheWorkspace) {
  // decays of [4 pairs, 5 chunks, 16]
  expect_fault(
      [](const LinearRecurrenceParams& p) { static_cast<float*>(p.work[1])[4 * 5 * 16 + 1] = 0; },
      check::guard_zone, "guard zone behind 'decays' overwritten at byte 4", "chunk_materialized");
}

TEST(Verify, InputChanged) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        const_cast<float*>(static_cast<const float*>(p.k))[100] += 1;
      },
      check::input_changed, "input 'k' changed");
}

TEST(Verify, ResultsThatLeanOnTheWorkspacesFormerContent) {
  Bench bench(small_problem());
  Variant variant = *find_variant("gla", "chunk_materialized", BackendId::host);
  const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
  variant.code = [right](const HostCall& call) {
    LinearRecurrenceParams p;
    std::memcpy(&p, call.params.data(), sizeof p);
    const float before = static_cast<const float*>(p.work[0])[0];
    right(call);
    output(p)[0] += 0 * before;
  };
  EXPECT_FALSE(bench.verify(variant).ok);
}

}  // namespace
}  // namespace gla_bench
