// Every host variant through the real backend and the real verification: all regimes, dtypes,
// layouts and ragged shapes, all tiles.

#include <gtest/gtest.h>

#include <cmath>

#include "harness/verify.hpp"
#include "kernels/linear_recurrence/host_math.hpp"

namespace gla_bench {
namespace {

std::vector<const Variant*> host_variants() {
  std::vector<const Variant*> list;
  for (const Variant& variant : variants())
    if (variant.backend == BackendId::host && variant.op == "gla") list.push_back(&variant);
  return list;
}

Problem gla(Shape shape, const std::string& gate, DType dtype) {
  Problem problem;
  problem.op = "gla";
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = dtype;
  return problem;
}

Tile default_tile(const Variant& variant) {
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  return tile;
}

Verification verify(Backend& backend, ProblemTruth& truth, const Candidate& candidate) {
  const auto workset = backend.stage(truth.op(), candidate.problem, truth.inputs());
  const auto plan = backend.build(candidate);
  plan->prepare(*workset);
  return verify_candidate(*workset, *plan, truth,
                          candidate.variant->arithmetic(candidate.problem, candidate.tile),
                          default_tolerance());
}

using Point = std::tuple<std::string, std::string>;  // variant, regime
class HostVariants : public testing::TestWithParam<Point> {
 protected:
  const Variant& variant() const {
    return *find_variant("gla", std::get<0>(GetParam()), BackendId::host);
  }
  const std::string& regime() const { return std::get<1>(GetParam()); }
};

TEST_P(HostVariants, RightInEveryDtypeLayoutAndShape) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla");
  const std::vector<Shape> shapes{{1, 1, 1, 1, 1},   {2, 17, 2, 1, 1},    {1, 17, 3, 100, 72},
                                  {2, 65, 2, 16, 8}, {1, 65, 2, 100, 72}, {1, 150, 1, 33, 20}};
  for (const Shape& shape : shapes)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const bool initial : {false, true}) {
        Problem problem = gla(shape, regime(), dtype);
        problem.initial_state = initial;
        ProblemTruth truth(op, problem, op.draw(problem));
        for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
          problem.layout = layout;
          const Verification result =
              verify(*backend, truth, {&variant(), problem, default_tile(variant())});
          EXPECT_TRUE(result.ok) << describe(problem) << ": " << result.fault;
          EXPECT_TRUE(result.deterministic) << describe(problem);
        }
      }
}

TEST_P(HostVariants, RightWithEveryTile) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla");
  Problem problem = gla({1, 147, 2, 24, 80}, regime(), DType::float32);
  problem.initial_state = true;
  ProblemTruth truth(op, problem, op.draw(problem));
  for (const Tile& tile : all_tiles(variant().space)) {
    const Verification result = verify(*backend, truth, {&variant(), problem, tile});
    EXPECT_TRUE(result.ok) << describe(tile) << ": " << result.fault;
  }
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const Variant* variant : host_variants()) names.push_back(variant->name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Gla, HostVariants,
                         testing::Combine(testing::ValuesIn(variant_names()),
                                          testing::ValuesIn(find_operator("gla")->gates)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" + std::get<1>(instance.param);
                         });

}  // namespace
}  // namespace gla_bench
