// Values of tiles that sweeps leave out where they do not ask for them.

#include "harness/config/space/rare_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/config/sweep.hpp"

namespace gla_bench {
namespace {

RareTiles read(const std::string& text) {
  const Json document = parse_json(text, "r.json");
  return read_rare_tiles(JsonNode(document, "r.json"));
}

Variant variant_of(TileSpace space) {
  Variant variant;
  variant.name = "v";
  variant.space = std::move(space);
  return variant;
}

std::vector<int> values(const TileSpace& space, std::string_view axis) {
  for (const TileAxis& one : space)
    if (one.name == axis) return one.values;
  return {};
}

const Variant two_axes = variant_of({{"a", {1, 2, 3}, ""}, {"b", {1, 2}, ""}});

TEST(RareTiles, AreLeftOutUnlessTheirAxisIsNamed) {
  const RareTiles rare = read(R"({"v": {"forward": {"a": [2, 3], "b": [1, 2]}}})");
  EXPECT_EQ(values(usual_space(two_axes, {}, rare), "a"), (std::vector{1}));
  EXPECT_EQ(values(usual_space(two_axes, {}, rare), "b"), (std::vector{1}));  // its default stays
  Narrowing by_value, by_condition;
  by_value.axes["a"] = {1, 2};
  by_condition.where.emplace_back("a < 3");
  for (const Narrowing& narrowing : {by_value, by_condition}) {
    EXPECT_EQ(values(usual_space(two_axes, narrowing, rare), "a"), (std::vector{1, 2, 3}));
    EXPECT_EQ(values(usual_space(two_axes, narrowing, rare), "b"), (std::vector{1}));
  }
}

TEST(RareTiles, AreOfOneVariantAndDirection) {
  for (const char* other :
       {R"({"w": {"forward": {"a": [2]}}})", R"({"v": {"backward": {"a": [2]}}})"})
    EXPECT_EQ(values(usual_space(two_axes, {}, read(other)), "a"), (std::vector{1, 2, 3}));
}

TEST(RareTiles, BadFilesAreRefused) {
  EXPECT_THROW(read(R"({"v": {"sideways": {"a": [2]}}})"), InputError);
  EXPECT_THROW(read(R"({"v": {"forward": {"a": []}}})"), InputError);
  EXPECT_THROW(read(R"({"v": {"forward": {"a": ["2"]}}})"), InputError);
  EXPECT_THROW(read("[]"), InputError);
}

TEST(RareTiles, ThoseOfTheProgramAreValuesOfItsVariants) {
  const Catalog catalog = program_catalog();
  EXPECT_FALSE(rare_tiles().empty());
  for (const auto& [key, axes] : rare_tiles()) {
    const auto& [name, direction] = key;
    const Variant* found = nullptr;
    for (const Variant& variant : catalog.variants)
      if (variant.name == name && variant.direction == direction &&
          variant.backend == BackendId::cuda)
        found = &variant;
    ASSERT_NE(found, nullptr) << name;
    for (const auto& [axis, rare] : axes) {
      const std::vector<int> known = values(found->space, axis);
      for (const int value : rare)
        EXPECT_NE(std::find(known.begin(), known.end(), value), known.end())
            << name << " " << axis << "=" << value;
      EXPECT_FALSE(rare.contains(known.front())) << name << " " << axis;
    }
  }
}

TEST(RareTiles, ASweepTriesThemWhereItAsksOrWhereNothingElseRuns) {
  Variant variant = *find_variant("gla", "chunk_sm90", BackendId::cuda, Direction::forward);
  Problem problem;
  problem.op = "gla";
  problem.dtype = DType::bfloat16;
  problem.shape = {2, 2048, 4, 128, 128};
  const Limits limits = limits_of(*parse_architecture("sm_90"));
  const auto count = [](const Candidates& found, int segments) {
    return std::count_if(found.accepted.begin(), found.accepted.end(),
                         [&](const Candidate& one) { return one.tile.at("segments") == segments; });
  };
  const Candidates usual = candidates(variant, problem, {}, limits);
  EXPECT_EQ(count(usual, 3), 0);
  EXPECT_GT(count(usual, 4), 0);
  Narrowing all;
  all.rare = true;
  const Candidates every = candidates(variant, problem, all, limits);
  EXPECT_GT(count(every, 3), 0);
  EXPECT_GT(every.accepted.size(), usual.accepted.size());
  EXPECT_EQ(usual.narrowed, every.accepted.size() + every.rejected.size() - usual.accepted.size() -
                                usual.rejected.size());
  // A variant that takes the problem with a rare value alone.
  const auto reject = variant.reject;
  variant.reject = [reject](const Problem& p, const Tile& tile,
                            const Limits& l) -> std::optional<std::string> {
    if (tile.at("segments") != 3) return "made up";
    return reject(p, tile, l);
  };
  EXPECT_GT(count(candidates(variant, problem, {}, limits), 3), 0);
}

}  // namespace
}  // namespace gla_bench
