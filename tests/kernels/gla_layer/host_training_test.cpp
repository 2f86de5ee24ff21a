// A step of the layer on the host through the real backend and the real verification.

#include <gtest/gtest.h>

#include <set>

#include "kernels/gla_layer/inner.hpp"
#include "tests/kernels/gla_layer/problems.hpp"
#include "tests/support/verification.hpp"

namespace gla_bench::gla_layer {
namespace {

Problem training_of(DType dtype, const Shape& shape, std::int64_t model_dim) {
  return in_direction(layer(dtype, shape, model_dim), Direction::training);
}

const Variant& training_variant() {
  return *layer_variants(BackendId::host, Direction::training).front();
}

TEST(GlaLayerHostTraining, RightInEveryRegimeAndDtype) {
  const auto backend = make_host_backend({.threads = 2});
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      Problem problem = training_of(dtype, {2, 70, 3, 20, 36}, 50);
      problem.gate = gate;
      problem.initial_state = true;
      ProblemTruth truth(op, problem, op.draw(problem));
      const Candidate candidate{&training_variant(), problem, {{"inner", 0}, {"inner_tile", 0}}};
      ASSERT_EQ(candidate.variant->reject(problem, candidate.tile, {}), std::nullopt);
      const Verification result = verify_on(*backend, truth, candidate);
      EXPECT_TRUE(result.ok) << describe(candidate) << ": " << result.fault;
      EXPECT_TRUE(result.deterministic);
      EXPECT_TRUE(result.tensors.contains("y") && result.tensors.contains("final_state") &&
                  result.tensors.contains("dx") && result.tensors.contains("dw_o"));
    }
}

/// More rows than a product takes at once, too.
TEST(GlaLayerHostTraining, RightWithEveryTrainingOfGla) {
  const auto backend = make_host_backend({.threads = 2});
  const Operator& op = *find_operator("gla_layer");
  for (const bool states : {true, false}) {
    Problem problem = training_of(DType::float32, {1, states ? 130 : 600, 2, 24, 40}, 33);
    problem.initial_state = problem.final_state = states;
    ProblemTruth truth(op, problem, op.draw(problem));
    std::set<int> inner;
    for (const Tile& tile : all_tiles(training_variant().space)) {
      if (tile.at("inner_tile") > 1 || training_variant().reject(problem, tile, {})) continue;
      inner.insert(tile.at("inner"));
      const Verification result = verify_on(*backend, truth, {&training_variant(), problem, tile});
      EXPECT_TRUE(result.ok) << describe(tile) << ": " << result.fault;
    }
    EXPECT_EQ(inner, (std::set<int>{0, 1, 2})) << "gla has no other training on the host";
  }
}

// q, k, g of N = 8 columns, v, r, o and gated of M = 32, low of 16; 6 rows of float32; and gla's.
TEST(GlaLayerHostTraining, KeepsTheForwardsTensorsAndTheStatesOfGla) {
  const Problem problem = training_of(DType::float32, {2, 3, 2, 4, 16}, 10);
  const Candidate candidate{&training_variant(), problem, {{"inner", 0}, {"inner_tile", 0}}};
  std::size_t states = 0;
  for (const Region& region : training_variant().workspace(problem, candidate.tile))
    if (region.kept && region.name.starts_with("gla.")) states += region.bytes;
  EXPECT_EQ(states, 2u * 2 * 4 * 16 * 4) << "one chunk of each sequence and head";
  EXPECT_EQ(kept_bytes(candidate), 4u * 6 * (3 * 8 + 4 * 32 + 16) + states);
}

TEST(GlaLayerHostTraining, TimesItsPasses) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla_layer");
  const Problem problem = training_of(DType::bfloat16, {1, 20, 2, 8, 8}, 16);
  const auto workset = backend->stage(op, problem, op.draw(problem));
  const Candidate candidate{&training_variant(), problem, {{"inner", 2}, {"inner_tile", 0}}};
  const auto plan = backend->build(candidate);
  plan->prepare(*workset);
  std::vector<std::string> timed;
  for (const StageTime& time : plan->stage_times(CacheState::cold)) timed.push_back(time.name);
  EXPECT_EQ(timed, (std::vector<std::string>{"forward", "backward"}));
  EXPECT_GE(candidate.variant->flops(problem, candidate.tile), op.work(problem).flops);
}

TEST(GlaLayerHostTraining, RefusesByName) {
  const Tile usual{{"inner", 0}, {"inner_tile", 0}};
  const Problem problem = training_of(DType::float32, {1, 4, 2, 4, 4}, 8);
  const auto reason = [&](const Problem& p, const Tile& tile) {
    return training_variant().reject(p, tile, {}).value_or("");
  };
  EXPECT_EQ(reason(problem, usual), "");
  EXPECT_NE(reason(problem, {}), "");
  EXPECT_EQ(reason(problem, {{"inner", 3}, {"inner_tile", 0}}),
            "gla has no training variant parallel on host");
  EXPECT_EQ(reason(in_direction(problem, Direction::backward), usual), "training only");
}

}  // namespace
}  // namespace gla_bench::gla_layer
