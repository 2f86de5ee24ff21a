// The layer's host variants through the real backend and the real verification.

#include <gtest/gtest.h>

#include "kernels/gla_layer/inner.hpp"
#include "tests/kernels/gla_layer/problems.hpp"
#include "tests/support/verification.hpp"

namespace gla_bench::gla_layer {
namespace {

TEST(GlaLayerHost, RightInEveryRegimeAndDtype) {
  const auto backend = make_host_backend({.threads = 2});
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const char* divisor : {"16", "1"}) {
        Problem problem = layer(dtype, {2, 70, 3, 20, 36}, 50);
        problem.gate = gate;
        problem.initial_state = true;
        if (divisor[1] == 0) problem.options["gate_divisor"] = divisor;
        ProblemTruth truth(op, problem, op.draw(problem));
        for (const Variant* variant : layer_variants(BackendId::host)) {
          const Candidate candidate{variant, problem, {{"inner", 0}, {"inner_tile", 0}}};
          ASSERT_EQ(variant->reject(problem, candidate.tile, {}), std::nullopt);
          const Verification result = verify_on(*backend, truth, candidate);
          EXPECT_TRUE(result.ok) << describe(candidate) << ": " << result.fault;
          EXPECT_TRUE(result.deterministic);
        }
      }
}

TEST(GlaLayerHost, RightWithEveryVariantOfGla) {
  const auto backend = make_host_backend({.threads = 2});
  const Operator& op = *find_operator("gla_layer");
  for (const bool states : {true, false}) {
    Problem problem = layer(DType::float32, {1, 130, 2, 24, 40}, 33);
    problem.initial_state = problem.final_state = states;
    ProblemTruth truth(op, problem, op.draw(problem));
    for (const Variant* variant : layer_variants(BackendId::host)) {
      int accepted = 0;
      for (const Tile& tile : all_tiles(variant->space)) {
        if (variant->reject(problem, tile, {})) continue;
        ++accepted;
        const Verification result = verify_on(*backend, truth, {variant, problem, tile});
        EXPECT_TRUE(result.ok) << describe(tile) << ": " << result.fault;
      }
      EXPECT_GE(accepted, 20) << "five variants of gla with several tiles each";
    }
  }
}

TEST(GlaLayerHost, NamesItsStages) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla_layer");
  const Problem problem = layer(DType::bfloat16, {1, 20, 2, 8, 8}, 16);
  const auto workset = backend->stage(op, problem, op.draw(problem));
  for (const Variant* variant : layer_variants(BackendId::host)) {
    const Candidate candidate{variant, problem, {{"inner", 0}, {"inner_tile", 0}}};
    const auto plan = backend->build(candidate);
    plan->prepare(*workset);
    std::vector<std::string> timed, modelled;
    for (const StageTime& time : plan->stage_times(CacheState::cold)) timed.push_back(time.name);
    for (const StageTraffic& stage : variant->stages(problem, candidate.tile))
      modelled.push_back(stage.name);
    EXPECT_EQ(timed, modelled);
    EXPECT_EQ(timed.size(), 5u);
  }
}

TEST(GlaLayerHost, RefusesByName) {
  const Variant& variant = *layer_variants(BackendId::host).front();
  const Tile usual{{"inner", 0}, {"inner_tile", 0}};
  Problem problem = layer(DType::float32, {1, 4, 2, 4, 4}, 8);
  EXPECT_EQ(variant.reject(problem, usual, {}), std::nullopt);
  const auto reason = [&](const Problem& p, const Tile& tile) {
    return variant.reject(p, tile, {}).value_or("");
  };
  EXPECT_NE(reason(problem, {}), "");
  EXPECT_NE(reason(problem, {{"inner", 99}, {"inner_tile", 0}}), "");
  const Variant& cuda = *layer_variants(BackendId::cuda).front();
  EXPECT_NE(reason(problem, {{"inner", 0}, {"inner_tile", 8}}), "");
  EXPECT_NE(cuda.reject(problem, usual, {}), std::nullopt) << "there is no device";
  problem.layout = Layout::head_first;
  EXPECT_NE(reason(problem, usual).find("head_first"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::gla_layer
