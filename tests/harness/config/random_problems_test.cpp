#include "harness/config/random_problems.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/backends/sources/architecture.hpp"
#include "harness/config/sweep.hpp"

namespace gla_bench {
namespace {

Config config_of(const std::string& sweep) {
  const Json document = Json::parse(R"({"sweeps": [)" + sweep + "]}");
  return read_config(JsonNode(document, "c.json"), program_catalog(), "");
}

/// A sweep of the operator with the program's defaults.
Sweep sweep_of(const std::string& op, int problems, std::uint64_t seed = 7,
               const std::string& more = "") {
  return config_of(R"({"operator": ")" + op + R"(", "variants": "all", "random": {"problems": )" +
                   std::to_string(problems) + R"(}, "seed": )" + std::to_string(seed) + more + "}")
      .sweeps.front();
}

Problem problem_of(const Shape& shape) {
  Problem problem;
  problem.op = "gla";
  problem.shape = shape;
  return problem;
}

TEST(RandomProblems, AreAFunctionOfTheSeedAndTheOperator) {
  const auto list = random_problems(sweep_of("gla", 50));
  EXPECT_EQ(list, random_problems(sweep_of("gla", 50)));
  EXPECT_NE(list, random_problems(sweep_of("gla", 50, 8)));
  // More of them are the same and some more.
  const auto more = random_problems(sweep_of("gla", 60));
  EXPECT_TRUE(std::equal(list.begin(), list.end(), more.begin()));
  EXPECT_EQ(more.size(), 60u);
  EXPECT_EQ(std::set<Problem>(more.begin(), more.end()).size(), 60u);
}

TEST(RandomProblems, ExistAndKeepTheirLimits) {
  for (const char* name : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"}) {
    const Operator& op = *find_operator(name);
    double sum = 0;
    for (const std::uint64_t seed : {1, 2, 3})
      for (const Problem& problem : random_problems(sweep_of(name, 200, seed))) {
        EXPECT_FALSE(op.refuse(problem)) << *op.refuse(problem);
        const Shape& s = problem.shape;
        const std::int64_t work = s.batch * s.seq * s.heads * s.key_dim * s.value_dim;
        EXPECT_LE(work, most_random_work) << describe(problem);
        EXPECT_GE(std::min({s.batch, s.seq, s.heads, s.key_dim, s.value_dim}), 1);
        EXPECT_LE(std::max(s.key_dim, s.value_dim), 512);
        sum += static_cast<double>(work);
      }
    // Most are small: the float64 references of all are a matter of seconds.
    EXPECT_LT(sum / 600, most_random_work / 4.0) << name;
  }
}

TEST(RandomProblems, ReachWhatKernelsDifferIn) {
  std::set<std::string> gates;
  std::set<DType> dtypes;
  std::set<Layout> layouts;
  std::set<std::pair<bool, bool>> states;
  std::set<std::map<std::string, std::string>> options;
  int ragged = 0, decoding = 0, odd_dims = 0, edges = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4})
    for (const Problem& problem : random_problems(sweep_of("rwkv6", 100, seed))) {
      gates.insert(problem.gate);
      dtypes.insert(problem.dtype);
      layouts.insert(problem.layout);
      states.emplace(problem.initial_state, problem.final_state);
      options.insert(problem.options);
      ragged += problem.shape.sequences > 0;
      decoding += problem.shape.seq <= 8;
      odd_dims += problem.shape.key_dim % 8 != 0;
      edges += problem.shape.seq > 8 && (problem.shape.seq + 1) % 16 < 3;
    }
  const auto& all = find_operator("rwkv6")->gates;
  EXPECT_EQ(gates, std::set<std::string>(all.begin(), all.end()));
  EXPECT_EQ(dtypes.size(), 3u);
  EXPECT_EQ(layouts.size(), 2u);
  EXPECT_EQ(states.size(), 4u);
  EXPECT_GT(options.size(), 8u);
  EXPECT_GT(ragged, 40);
  EXPECT_GT(decoding, 40);
  EXPECT_GT(odd_dims, 5);
  EXPECT_GT(edges, 80);
}

TEST(RandomProblems, ShareTheirKernels) {
  const auto combinations = [](const std::vector<Problem>& list) {
    std::set<std::string> texts;
    for (Problem problem : list) {
      problem.shape = {1, 1, 1, problem.shape.key_dim, problem.shape.value_dim};
      problem.gate.clear();
      problem.seed = 0;
      texts.insert(describe(problem));
    }
    return texts.size();
  };
  EXPECT_LE(combinations(random_problems(sweep_of("gla", 400))), 12u);
  Sweep few = sweep_of("gla", 400);
  few.random->kernels = 3;
  EXPECT_LE(combinations(random_problems(few)), 3u);
}

TEST(RandomProblems, AreDrawnFromTheSweepsAxes) {
  const Sweep sweep = sweep_of("gla", 100, 7,
                               R"(, "dtypes": ["bfloat16"], "layouts": ["seq_first"],
      "gates": ["strong", "mild"], "initial_state": true, "options": {"state_layout": "value_first"})");
  for (const Problem& problem : random_problems(sweep)) {
    EXPECT_EQ(problem.dtype, DType::bfloat16);
    EXPECT_EQ(problem.layout, Layout::seq_first);
    EXPECT_TRUE(problem.gate == "strong" || problem.gate == "mild");
    EXPECT_TRUE(problem.initial_state);
    EXPECT_EQ(problem.options.at("state_layout"), "value_first");
  }
}

TEST(RandomProblems, AConfigOfThemReadsAsItIsWritten) {
  const Config config = config_of(
      R"({"operator": "gla", "variants": "all", "random": {"problems": 9, "kernels": 4}})");
  EXPECT_EQ(config.sweeps[0].max_tiles, 1);
  EXPECT_TRUE(config.sweeps[0].refusals_allowed);
  const Json written = config_to_json(config);
  const Config again = read_config(JsonNode(written, "again"), program_catalog(), "");
  EXPECT_EQ(config_to_json(again), written);
  EXPECT_EQ(problems(again.sweeps[0]), problems(config.sweeps[0]));
  EXPECT_EQ(points(again).size(), 9u);
}

TEST(DrawnTiles, AreEachTileOnceInAnOrderOfTheirOwn) {
  const TileSpace space{{"a", {1, 2, 3, 4}, ""}, {"b", {5, 6, 7}, ""}, {"c", {8, 9}, ""}};
  const auto list = all_tiles(space);
  std::set<Tile> firsts;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const DrawnTiles order(space, problem_of({}), "v", seed);
    std::set<Tile> seen;
    for (std::size_t i = 0; i < order.count(); ++i) seen.insert(order.at(i));
    EXPECT_EQ(seen, std::set<Tile>(list.begin(), list.end()));
    firsts.insert(order.at(0));
  }
  EXPECT_GT(firsts.size(), 12u);
  const TileSpace empty;
  const DrawnTiles none(empty, problem_of({}), "v", 1);
  EXPECT_EQ(none.count(), 1u);
  EXPECT_EQ(none.at(0), Tile{});
}

TEST(DrawnTiles, AreTwoForProblemsOfTheSameKernels) {
  const Variant& variant = *find_variant("gla", "chunk_fused", BackendId::cuda);
  Problem problem = problem_of({2, 100, 3, 64, 64});
  std::set<Tile> tiles;
  for (std::uint64_t i = 0; i < 40; ++i) {
    problem.seed = i;
    problem.shape.seq = 9 + static_cast<std::int64_t>(i);
    problem.gate = i < 20 ? "mild" : "strong";
    const auto found = candidates(variant, problem, {}, limits_of(90), 1, 7);
    ASSERT_EQ(found.accepted.size(), 1u);
    EXPECT_TRUE(found.rejected.empty());
    EXPECT_FALSE(variant.reject(problem, found.accepted[0].tile, limits_of(90)));
    tiles.insert(found.accepted[0].tile);
  }
  EXPECT_LE(tiles.size(), 2u);
}

TEST(DrawnTiles, OfAVariantThatTakesNoneAreAllRefused) {
  const Variant& variant = *find_variant("gla", "decode", BackendId::cuda);
  const Problem problem = problem_of({2, 100, 3, 64, 64});
  const auto found = candidates(variant, problem, {}, limits_of(90), 1, 7);
  EXPECT_TRUE(found.accepted.empty());
  EXPECT_EQ(found.rejected.size(), all_tiles(variant.space).size());
}

}  // namespace
}  // namespace gla_bench
