#include "harness/config/sweep.hpp"

#include <gtest/gtest.h>

#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

const Variant& variant(std::string_view name, BackendId backend) {
  static const Catalog catalog = toy::catalog();
  return *catalog.find_variant("toy", name, backend, Direction::forward);
}

Sweep sweep() {
  Sweep s;
  s.op = "toy";
  s.variants = {"fast", "slow"};
  s.dtypes = {DType::float32, DType::bfloat16};
  s.layouts = {Layout::seq_first, Layout::head_first};
  s.gates = {"mild", "strong"};
  s.shapes = {{1, 8, 2, 4, 4}, {2, 16, 2, 4, 4}};
  s.initial_state = {false, true};
  return s;
}

TEST(Sweep, ProblemsAreTheProductOfItsAxes) {
  Sweep s = sweep();
  s.seed = 9;
  s.scales = {0.25};
  const auto list = problems(s);
  EXPECT_EQ(list.size(), 2u * 2 * 2 * 2 * 2);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].seed, 9u);
    EXPECT_EQ(list[i].scale, 0.25);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(list[i], list[j]);
  }
}

TEST(Sweep, ScalesAreAnAxis) {
  Sweep s = sweep();
  s.scales = {std::nullopt, -0.5};
  const auto list = problems(s);
  ASSERT_EQ(list.size(), 2u * 2 * 2 * 2 * 2 * 2);
  EXPECT_EQ(list[0].scale, std::nullopt);
  EXPECT_EQ(list[2].scale, -0.5);
}

TEST(Sweep, PointsMergeSweepsThatShareAProblem) {
  Config config;
  config.sweeps = {sweep(), sweep()};
  config.sweeps[1].variants = {"picky"};
  config.sweeps[1].shapes = {{2, 16, 2, 4, 4}, {3, 8, 2, 4, 4}};
  config.sweeps[1].tiles["picky"].axes = {{"chunk", {1}}};
  const auto list = points(config);
  EXPECT_EQ(list.size(), 48u);
  std::size_t shared = 0;
  for (const Point& point : list)
    if (point.requests.size() == 3) {
      ++shared;
      EXPECT_EQ(point.requests[2].variant, "picky");
      EXPECT_EQ(point.requests[2].narrowing.axes.at("chunk"), std::vector<int>{1});
    }
  EXPECT_EQ(shared, 16u);
}

TEST(Sweep, CandidatesComeWithTheRejectedAndTheirReasons) {
  const auto found = candidates(variant("fast", BackendId::cuda), toy::problem(), {}, {});
  EXPECT_EQ(found.accepted.size(), 5u);
  ASSERT_EQ(found.rejected.size(), 1u);
  EXPECT_EQ(found.rejected[0].reason, "chunk 64 needs 2 warps");
  EXPECT_EQ(found.rejected[0].candidate.tile, (Tile{{"chunk", 64}, {"warps", 1}}));
  EXPECT_EQ(found.narrowed, 0u);
}

TEST(Sweep, NarrowingKeepsTheNamedValuesOnly) {
  const Narrowing narrowing{{{"chunk", {64}}}, {}};
  const auto cuda = candidates(variant("fast", BackendId::cuda), toy::problem(), narrowing, {});
  ASSERT_EQ(cuda.accepted.size(), 1u);
  EXPECT_EQ(cuda.accepted[0].tile, (Tile{{"chunk", 64}, {"warps", 2}}));
  EXPECT_EQ(cuda.rejected.size(), 1u);
  EXPECT_EQ(cuda.narrowed, 4u);
  // The host implementation has no chunk of 64: its default stands.
  const auto host = candidates(variant("fast", BackendId::host), toy::problem(), narrowing, {});
  ASSERT_EQ(host.accepted.size(), 1u);
  EXPECT_EQ(host.accepted[0].tile, (Tile{{"chunk", 16}}));
}

TEST(Sweep, ConditionsNarrowTheTilesOfThoseThatHaveTheirAxes) {
  const Narrowing narrowing{{}, {Condition("chunk <= 32 and warps == 2")}};
  const auto cuda = candidates(variant("fast", BackendId::cuda), toy::problem(), narrowing, {});
  EXPECT_EQ(cuda.narrowed + cuda.accepted.size() + cuda.rejected.size(), 6u);
  ASSERT_FALSE(cuda.accepted.empty());
  for (const Candidate& candidate : cuda.accepted) {
    EXPECT_LE(candidate.tile.at("chunk"), 32);
    EXPECT_EQ(candidate.tile.at("warps"), 2);
  }
  EXPECT_EQ(cuda.rejected.size(), 0u);
  // The host implementation has no warps: the condition says nothing of it.
  const auto all = candidates(variant("fast", BackendId::host), toy::problem(), {}, {});
  const auto host = candidates(variant("fast", BackendId::host), toy::problem(), narrowing, {});
  EXPECT_EQ(host.accepted.size(), all.accepted.size());
}

TEST(Sweep, AnArithmeticThatWasNotAskedForIsRefused) {
  const Variant& rounding = *find_variant("gla", "parallel_cublas", BackendId::cuda);
  Problem problem;
  problem.op = "gla";
  problem.shape = {1, 64, 1, 16, 16};
  Narrowing narrowing;
  const Limits limits{90, 232448, 0, 132};
  const auto all = candidates(rounding, problem, narrowing, limits);
  for (const Arithmetic asked : {Arithmetic::float32, Arithmetic::tf32}) {
    narrowing.arithmetic = {asked};
    const auto found = candidates(rounding, problem, narrowing, limits);
    EXPECT_FALSE(found.accepted.empty());
    EXPECT_LT(found.accepted.size(), all.accepted.size());
    for (const Candidate& candidate : found.accepted)
      EXPECT_EQ(rounding.arithmetic(problem, candidate.tile), asked);
    const std::string other = asked == Arithmetic::tf32 ? "float32" : "tf32";
    EXPECT_EQ(found.rejected.back().reason,
              "its products are in " + other + ", the config asks for " + std::string(name(asked)));
  }
  narrowing.arithmetic = {Arithmetic::float32, Arithmetic::tf32};
  EXPECT_EQ(candidates(rounding, problem, narrowing, limits).accepted.size(), all.accepted.size());
  // Drawn tiles keep to it, too.
  narrowing.arithmetic = {Arithmetic::float32};
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const Candidate& one : candidates(rounding, problem, narrowing, limits, 1, seed).accepted)
      EXPECT_EQ(rounding.arithmetic(problem, one.tile), Arithmetic::float32);
}

TEST(Sweep, MaxTilesCountsAcceptedTiles) {
  const Narrowing narrowing{{{"chunk", {64, 32}}}, {}};
  const auto found = candidates(variant("fast", BackendId::cuda), toy::problem(), narrowing, {}, 1);
  ASSERT_EQ(found.accepted.size(), 1u);
  EXPECT_EQ(found.accepted[0].tile, (Tile{{"chunk", 64}, {"warps", 2}}));
  EXPECT_EQ(found.rejected.size() + found.narrowed + found.accepted.size(), 6u);
}

TEST(Sweep, MemoryNeedCountsTensorsAndTheHostsCopies) {
  const Operator op = toy::make_operator();
  Problem problem = toy::problem();
  problem.shape = {1, 1000, 10, 100, 100};  // q and o: a million elements each
  const MemoryNeed need = memory_need(op, problem);
  EXPECT_NEAR(need.tensors, 8e6, 1e5);
  EXPECT_DOUBLE_EQ(need.host, 12e6 + 28e6);
  EXPECT_FALSE(does_not_fit(need, 0, 0, 0));
  EXPECT_FALSE(does_not_fit(need, 1e6, 1e7, 1e9));
  const auto device = does_not_fit(need, 5e6, 1e7, 1e9);
  ASSERT_TRUE(device);
  EXPECT_EQ(*device,
            "does not fit: needs 13 MB (tensors 8.02 MB, workspace 5 MB), 10 MB are there");
  const auto host = does_not_fit(need, 0, 0, 1e7);
  ASSERT_TRUE(host);
  EXPECT_NE(host->find("40 MB of host memory, 10 MB"), std::string::npos) << *host;
}

TEST(Sweep, BytesReadWell) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_bytes(2.5e12), "2.5 TB");
  EXPECT_EQ(format_bytes(2.5e16), "25000 TB");
}

TEST(Sweep, HostMemoryIsKnownHere) {
  EXPECT_GT(available_host_memory(), 1e6);
}

}  // namespace
}  // namespace gla_bench
