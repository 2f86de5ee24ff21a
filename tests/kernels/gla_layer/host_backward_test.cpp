// The layer's backward on the host through the real backend and the real verification.

#include <gtest/gtest.h>

#include <set>

#include "kernels/gla_layer/inner.hpp"
#include "tests/kernels/gla_layer/problems.hpp"
#include "tests/support/verification.hpp"

namespace gla_bench::gla_layer {
namespace {

Problem backward_of(DType dtype, const Shape& shape, std::int64_t model_dim) {
  return in_direction(layer(dtype, shape, model_dim), Direction::backward);
}

const Variant& backward_variant() {
  return *layer_variants(BackendId::host, Direction::backward).front();
}

TEST(GlaLayerHostBackward, RightInEveryRegimeAndDtype) {
  const auto backend = make_host_backend({.threads = 2});
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const char* divisor : {"16", "1"}) {
        Problem problem = backward_of(dtype, {2, 70, 3, 20, 36}, 50);
        problem.gate = gate;
        problem.initial_state = true;
        if (divisor[1] == 0) problem.options["gate_divisor"] = divisor;
        ProblemTruth truth(op, problem, op.draw(problem));
        const Candidate candidate{&backward_variant(), problem, {{"inner", 0}, {"inner_tile", 0}}};
        ASSERT_EQ(candidate.variant->reject(problem, candidate.tile, {}), std::nullopt);
        const Verification result = verify_on(*backend, truth, candidate);
        EXPECT_TRUE(result.ok) << describe(candidate) << ": " << result.fault;
        EXPECT_TRUE(result.deterministic);
      }
}

/// More rows than a product takes at once, too.
TEST(GlaLayerHostBackward, RightWithEveryVariantOfGla) {
  const auto backend = make_host_backend({.threads = 2});
  const Operator& op = *find_operator("gla_layer");
  for (const bool states : {true, false}) {
    Problem problem = backward_of(DType::float32, {1, states ? 130 : 600, 2, 24, 40}, 33);
    problem.initial_state = problem.final_state = states;
    ProblemTruth truth(op, problem, op.draw(problem));
    std::set<int> inner;
    for (const Tile& tile : all_tiles(backward_variant().space)) {
      if (tile.at("inner_tile") > 1 || backward_variant().reject(problem, tile, {})) continue;
      inner.insert(tile.at("inner"));
      const Verification result = verify_on(*backend, truth, {&backward_variant(), problem, tile});
      EXPECT_TRUE(result.ok) << describe(tile) << ": " << result.fault;
    }
    EXPECT_EQ(inner, (std::set<int>{0, 1, 2, 3})) << "chunk_sm90 is for GPUs";
  }
}

TEST(GlaLayerHostBackward, NamesItsStages) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla_layer");
  const Problem problem = backward_of(DType::bfloat16, {1, 20, 2, 8, 8}, 16);
  const auto workset = backend->stage(op, problem, op.draw(problem));
  const Candidate candidate{&backward_variant(), problem, {{"inner", 0}, {"inner_tile", 0}}};
  const auto plan = backend->build(candidate);
  plan->prepare(*workset);
  std::vector<std::string> timed, modelled;
  for (const StageTime& time : plan->stage_times(CacheState::cold)) timed.push_back(time.name);
  Traffic sum;
  for (const StageTraffic& stage : candidate.variant->stages(problem, candidate.tile)) {
    modelled.push_back(stage.name);
    sum.read_bytes += stage.traffic.read_bytes;
    sum.write_bytes += stage.traffic.write_bytes;
  }
  EXPECT_EQ(timed, modelled);
  EXPECT_EQ(timed.size(), 6u);
  EXPECT_GE(sum.read_bytes + sum.write_bytes, op.work(problem).floor_bytes);
  EXPECT_GE(candidate.variant->flops(problem, candidate.tile), op.work(problem).flops);
}

TEST(GlaLayerHostBackward, RefusesByName) {
  const Tile usual{{"inner", 0}, {"inner_tile", 0}};
  Problem problem = backward_of(DType::float32, {1, 4, 2, 4, 4}, 8);
  EXPECT_EQ(backward_variant().reject(problem, usual, {}), std::nullopt);
  const auto reason = [&](const Problem& p, const Tile& tile) {
    return backward_variant().reject(p, tile, {}).value_or("");
  };
  EXPECT_NE(reason(problem, {}), "");
  EXPECT_NE(reason(problem, {{"inner", 4}, {"inner_tile", 0}}).find("chunk_sm90"),
            std::string::npos);
  EXPECT_NE(reason(problem, {{"inner", 0}, {"inner_tile", 8}}), "");
  EXPECT_EQ(reason(in_direction(problem, Direction::forward), usual), "backward only");
  EXPECT_EQ(layer_variants(BackendId::host).front()->reject(problem, usual, {}), "forward only");
}

}  // namespace
}  // namespace gla_bench::gla_layer
