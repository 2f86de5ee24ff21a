#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& materialized_variant() {
  static const Variant v = chunk_materialized(gla_member());
  return v;
}

Recipe recipe_of(const Problem& problem, const Tile& tile) {
  return std::get<0>(materialized_variant().code)(problem, tile);
}

TEST(ChunkMaterialized, LaunchesStatesScanAndOutputs) {
  const Problem problem = gla(DType::bfloat16, {2, 1000, 3, 100, 72});
  const Recipe recipe = recipe_of(problem, default_tile(materialized_variant().space));
  ASSERT_EQ(recipe.steps.size(), 3u);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).entry, "chunk_states");
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).entry, "chunk_scan");
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[2]).entry, "chunk_outputs");
}

TEST(ChunkMaterialized, GridsCoverEveryChunkAndEveryElementOfTheState) {
  for (const std::int64_t seq : {1, 255, 256, 257, 1000})
    for (const std::int64_t value_dim : {1, 19, 64, 72}) {
      const Problem problem = gla(DType::float32, {2, seq, 3, 37, value_dim});
      Tile tile = default_tile(materialized_variant().space);
      tile["block_v"] = 16;
      const Recipe recipe = recipe_of(problem, tile);
      const std::int64_t tuples = sequences(problem) * ceil_div(seq, tile.at("chunk")) *
                                  ceil_div(value_dim, tile.at("block_v"));
      EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).grid.x, tuples);
      EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[2]).grid.x, tuples);
      const auto& scan = std::get<KernelLaunch>(recipe.steps[1]);
      const std::int64_t width = value_dim % 4 == 0 ? 4 : 1;
      EXPECT_GE(scan.grid.x * 32 * width, sequences(problem) * 37 * value_dim);
      EXPECT_EQ(scan.block.x, 32u * static_cast<unsigned>(tile.at("scan_warps")));
    }
}

TEST(ChunkMaterialized, WorkspaceHoldsAStateAndItsDecaysPerChunk) {
  const Problem problem = gla(DType::bfloat16, {2, 513, 3, 100, 72});
  const auto regions =
      materialized_variant().workspace(problem, default_tile(materialized_variant().space));
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 6u * 3 * 100 * 72 * 4);
  EXPECT_EQ(regions[1].bytes, 6u * 3 * 100 * 4);
}

TEST(ChunkMaterialized, LongerChunksMoveLess) {
  const Problem problem = gla(DType::bfloat16, {2, 4096, 3, 128, 128});
  Tile tile = default_tile(materialized_variant().space);
  tile["chunk"] = 64;
  const Traffic small = materialized_variant().traffic(problem, tile);
  tile["chunk"] = 256;
  const Traffic large = materialized_variant().traffic(problem, tile);
  EXPECT_LT(large.read_bytes, small.read_bytes);
  EXPECT_LT(large.write_bytes, small.write_bytes);
}

TEST(ChunkMaterialized, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(materialized_variant());
}

TEST(ChunkMaterialized, RejectsByNameAndNeverThrows) {
  expect_total_reject(materialized_variant());
}

TEST(ChunkMaterialized, AcceptedTilesFitTheLimits) {
  expect_launches_within(materialized_variant(), h200());
}

TEST(ChunkMaterialized, MovesAtLeastTheFloor) {
  expect_traffic_above_floor(materialized_variant());
}

TEST(ChunkMaterialized, ServesEveryMemberWithEveryOption) {
  expect_every_member_and_option(chunk_materialized);
}

TEST(ChunkMaterialized, KeepsPerChunkWhatItsMemberNeeds) {
  const auto names = [](std::string_view op, bool normalize) {
    Problem problem = problem_of(op, DType::bfloat16, {2, 513, 3, 100, 72});
    if (normalize) problem.options["normalize"] = "true";
    const Variant v = chunk_materialized(member_of(problem));
    std::vector<std::pair<std::string, std::size_t>> list;
    for (const Region& region : v.workspace(problem, default_tile(v.space)))
      list.emplace_back(region.name, region.bytes / (6 * 3 * 4));
    return list;
  };
  using List = std::vector<std::pair<std::string, std::size_t>>;
  EXPECT_EQ(names("linear_attention", false), (List{{"chunk_states", 7200}}));
  EXPECT_EQ(names("linear_attention", true),
            (List{{"chunk_states", 7200}, {"chunk_normalizers", 100}}));
  EXPECT_EQ(names("retention", false), (List{{"chunk_states", 7200}, {"chunk_decays", 1}}));
  EXPECT_EQ(names("simple_gla", false), (List{{"chunk_states", 7200}, {"chunk_decays", 1}}));
  EXPECT_EQ(names("rwkv6", false), (List{{"chunk_states", 7200}, {"chunk_decays", 100}}));
}

// The kernel puts sequence n's chunks from slot cu_seqlens[n] / chunk + n on: they must not meet
// those of the next, whatever the lengths, and all must lie in the workspace.
TEST(ChunkMaterialized, RaggedSlotsHoldEveryChunk) {
  std::uint64_t state = 1;
  const Tile tile = default_tile(materialized_variant().space);
  const std::int64_t chunk = tile.at("chunk");
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> begins{0};
    for (int n = 0; n < 1 + round % 9; ++n) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto random = static_cast<std::int64_t>(state >> 40);
      begins.push_back(begins.back() + (random % 4 == 0 ? 0 : random % (3 * chunk)));
    }
    Problem problem = gla(DType::bfloat16, {1, std::max<std::int64_t>(begins.back(), 1), 2, 16, 8});
    problem.shape.sequences = static_cast<std::int64_t>(begins.size()) - 1;
    const std::size_t bytes = materialized_variant().workspace(problem, tile)[0].bytes;
    const auto slots = static_cast<std::int64_t>(bytes / (2 * 16 * 8 * sizeof(float)));
    for (std::size_t n = 0; n + 1 < begins.size(); ++n) {
      const auto index = static_cast<std::int64_t>(n);
      const std::int64_t first = begins[n] / chunk + index;
      const std::int64_t count = ceil_div(begins[n + 1] - begins[n], chunk);
      const std::int64_t next = n + 2 < begins.size() ? begins[n + 1] / chunk + index + 1 : slots;
      EXPECT_LE(first + count, next);
    }
    const Recipe recipe = recipe_of(problem, tile);
    EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).grid.x, 2 * slots);
  }
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
