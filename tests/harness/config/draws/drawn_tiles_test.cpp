#include "harness/config/draws/drawn_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "harness/backends/sources/architecture.hpp"
#include "harness/config/draws/drawn_problems.hpp"
#include "tests/harness/config/draws/drawn_sweeps.hpp"

namespace gla_bench {
namespace {

Problem problem_of(const Shape& shape) {
  Problem problem;
  problem.op = "gla";
  problem.shape = shape;
  return problem;
}

const std::vector<Problem>& covering_problems(const std::string& op, Direction direction) {
  return drawn::covering(op, direction).problems;
}

Limits limits_for(const Variant& variant) {
  return variant.backend == BackendId::cuda ? limits_of(90) : Limits{};
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
  ASSERT_EQ(found.rejected.size(), 1u);  // one kind of reason
  EXPECT_EQ(found.rejected[0].tiles, tile_count(variant.space));
  EXPECT_EQ(found.narrowed, 0u);
}

TEST(DrawnTiles, AskAThousandTilesOfAVariantThatRefusesTheProblem) {
  const Variant& variant = *find_variant("gla", "chunk_sm90", BackendId::cuda);
  Problem problem = problem_of({2, 100, 3, 64, 64});
  problem.dtype = DType::float32;
  const auto found = candidates(variant, problem, {}, limits_of(90), 1, 7);
  EXPECT_TRUE(found.accepted.empty());
  ASSERT_EQ(found.rejected.size(), 1u);
  EXPECT_EQ(found.rejected[0].reason, "takes bfloat16 alone");
  EXPECT_EQ(found.rejected[0].tiles, 1000u);
  EXPECT_EQ(found.narrowed + 1000, tile_count(variant.space));
}

/// A variant that keeps its answers. The layer looks for a tile of its inner variants each time
/// that it is asked, and here it is asked several times for each of its own.
Variant remembering(Variant variant) {
  using Answers = std::map<std::pair<std::string, Tile>, std::optional<std::string>>;
  variant.reject = [reject = variant.reject, known = std::make_shared<Answers>()](
                       const Problem& problem, const Tile& tile, const Limits& limits) {
    const std::string text = describe(problem) + (problem.final_state ? " final_state" : "");
    const auto [answer, is_new] = known->try_emplace({text, tile});
    if (is_new) answer->second = reject(problem, tile, limits);
    return answer->second;
  };
  return variant;
}

/// The values of tile axes that some problem allows, beside its dtype.
using Value = std::tuple<std::string, int, DType>;
std::set<Value> allowed_values(const Variant& variant, const std::vector<Problem>& problems) {
  std::set<Value> values;
  const std::vector<Tile> tiles = all_tiles(variant.space);
  const Limits limits = limits_for(variant);
  for (const Problem& problem : problems)
    for (const Tile& tile : tiles) {
      const bool brings_one = std::any_of(tile.begin(), tile.end(), [&](const auto& of_axis) {
        return !values.contains({of_axis.first, of_axis.second, problem.dtype});
      });
      if (brings_one && !variant.reject(problem, tile, limits))
        for (const auto& [axis, value] : tile) values.emplace(axis, value, problem.dtype);
    }
  return values;
}

std::set<Value> taken_values(const TileCover& cover) {
  std::set<Value> values;
  for (const Candidates& found : cover.of_problems)
    for (const Candidate& candidate : found.accepted)
      for (const auto& [axis, value] : candidate.tile)
        values.emplace(axis, value, candidate.problem.dtype);
  return values;
}

TEST(CoveringTiles, ShowEveryValueThatSomeProblemAllowsBesideEveryDtype) {
  for (const Variant& of_program : variants()) {
    // Spaces of thousands of tiles are searched in part; the next test looks at one.
    if (tile_count(of_program.space) > 300) continue;
    const Variant variant = remembering(of_program);
    const auto& problems = covering_problems(variant.op, variant.direction);
    const TileCover cover = cover_tiles(variant, problems, {}, limits_for(variant), 1, 1);
    EXPECT_EQ(taken_values(cover), allowed_values(variant, problems))
        << variant.name << " of " << variant.op;
    EXPECT_EQ(cover.coverage.values_covered, cover.coverage.values);
    // A long sequence may be the only one that allows most numbers of segments.
    std::size_t most = 3;
    for (const TileAxis& axis : variant.space)
      if (axis.name == "segments") most = axis.values.size();
    EXPECT_LE(cover.coverage.pairs_covered, cover.coverage.pairs);
    ASSERT_EQ(cover.of_problems.size(), problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Candidates& found = cover.of_problems[i];
      EXPECT_TRUE(found.accepted.empty() != found.rejected.empty());
      EXPECT_LE(found.accepted.size(), most);
      for (const Candidate& candidate : found.accepted) {
        EXPECT_EQ(candidate.problem, problems[i]);
        EXPECT_FALSE(variant.reject(problems[i], candidate.tile, limits_for(variant)));
      }
    }
  }
}

/// A row or a list of keys of so many parts as small values of a tile make takes more than a warp.
TEST(CoveringTiles, ShowEveryValueInAProblemOfTheLongestClass) {
  const auto seen = [](const std::string& op, const std::string& name, auto is_longest) {
    const Variant& variant = *find_variant(op, name, BackendId::cuda);
    std::vector<Problem> longest;
    const auto& problems = covering_problems(op, Direction::forward);
    std::copy_if(problems.begin(), problems.end(), std::back_inserter(longest), is_longest);
    ASSERT_FALSE(longest.empty());
    TileCover taken = cover_tiles(variant, problems, {}, limits_of(90), 1, 1);
    std::erase_if(taken.of_problems, [&](const Candidates& found) {
      return found.accepted.empty() || !is_longest(found.accepted.front().problem);
    });
    std::set<std::pair<std::string, int>> allowed, shown;
    for (const auto& [axis, value, dtype] : allowed_values(variant, longest))
      allowed.emplace(axis, value);
    for (const auto& [axis, value, dtype] : taken_values(taken)) shown.emplace(axis, value);
    EXPECT_EQ(shown, allowed) << name;
  };
  seen("softmax", "online_blocked", [](const Problem& p) { return p.shape.columns > 65536; });
  seen("attention", "flash_decoding",
       [](const Problem& p) { return std::max(p.shape.seq, p.shape.keys_seq()) > 2048; });
}

TEST(CoveringTiles, OfALargeSpaceShowItsRareValues) {
  const Variant& variant = *find_variant("gla", "chunk_fused", BackendId::cuda);
  const auto& problems = covering_problems("gla", Direction::forward);
  const TileCover cover = cover_tiles(variant, problems, {}, limits_of(90), 1, 1);
  const std::set<Value> taken = taken_values(cover);
  EXPECT_TRUE(taken.contains({"terms", 3, DType::float32}));
  EXPECT_TRUE(taken.contains({"terms", 1, DType::float32}));
  std::set<std::pair<std::string, int>> allowed, seen;
  for (const auto& [axis, value, dtype] : allowed_values(variant, problems))
    allowed.emplace(axis, value);
  for (const auto& [axis, value, dtype] : taken) seen.emplace(axis, value);
  EXPECT_EQ(seen, allowed);
}

TEST(CoveringTiles, OfAGpuAreBuiltSeldom) {
  const Variant& variant = *find_variant("gla", "recurrent", BackendId::cuda);
  const auto& problems = covering_problems("gla", Direction::forward);
  std::set<std::string> kernels, builds;
  for (const Candidates& found :
       cover_tiles(variant, problems, {}, limits_of(90), 1, 1).of_problems)
    for (const Candidate& candidate : found.accepted) {
      kernels.insert(kernel_text(candidate.problem));
      builds.insert(kernel_text(candidate.problem) + describe(candidate.tile));
    }
  EXPECT_LE(builds.size(), 2 * kernels.size());
  EXPECT_GT(problems.size(), 2 * kernels.size());
}

TEST(CoveringTiles, KeepToANarrowing) {
  const Variant& variant = *find_variant("gla", "chunk_fused", BackendId::host);
  const auto& problems = covering_problems("gla", Direction::forward);
  Narrowing narrowing;
  narrowing.axes["chunk"] = {16, 128};
  narrowing.where.emplace_back("block_v <= chunk");
  const TileCover cover = cover_tiles(variant, problems, narrowing, Limits{}, 2, 1);
  std::set<int> chunks;
  for (const Candidates& found : cover.of_problems) {
    EXPECT_LE(found.accepted.size(), 3u);
    for (const Candidate& candidate : found.accepted) {
      chunks.insert(candidate.tile.at("chunk"));
      EXPECT_LE(candidate.tile.at("block_v"), candidate.tile.at("chunk"));
    }
  }
  EXPECT_EQ(chunks, (std::set<int>{128}));  // block_v is 32 at least
}

}  // namespace
}  // namespace gla_bench
