#include <gtest/gtest.h>

#include "kernels/softmax_attention/flash/layout.h"
#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

std::vector<Variant> flash() {
  return {flash1("attention"),
          flash2("attention"),
          flash2("decay_attention"),
          flash_decoding("attention"),
          flash_decoding_pp("attention"),
          flash_decoding("decay_attention")};
}

std::vector<Variant> all_forward() {
  std::vector<Variant> list = flash();
  list.push_back(materialized("attention"));
  list.push_back(materialized("decay_attention"));
  return list;
}

const KernelLaunch* launch_of(const Recipe& recipe, std::string_view entry) {
  for (const Step& step : recipe.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step);
        launch != nullptr && launch->entry == entry)
      return launch;
  return nullptr;
}

TEST(AttentionForward, RejectsByNameAndNeverThrows) {
  for (const Variant& variant : all_forward()) {
    const Tile usual = forward_default(variant);
    const Problem problem = forward_problem(variant.op, DType::bfloat16, {1, 4096, 2, 64, 64});
    EXPECT_EQ(variant.reject(problem, usual, forward_h200()), std::nullopt) << variant.name;
    expect_forward_reject(variant, problem);
    Problem other = problem;
    other.shape.value_dim = 257;
    expect_reason(variant, other, usual, forward_h200(), "value_dim");
    other = problem;
    other.shape.heads = 6;
    other.shape.key_heads = 4;
    expect_reason(variant, other, usual, forward_h200(), "key_heads");
    other = problem;
    other.shape.batch = other.shape.heads = std::int64_t{1} << 20;
    expect_reason(variant, other, usual, forward_h200(), "blocks");
  }
}

TEST(AttentionForward, RefusesTf32WhereLogitsAreLarge) {
  for (const Variant& variant : all_forward())
    for (const char* gate : {"peaked", "shifted"}) {
      Problem problem = forward_problem(variant.op, DType::float32, {1, 300, 2, 64, 64});
      problem.gate = gate;
      bool exact = false;
      for (const Tile& tile : all_tiles(variant.space)) {
        if (variant.reject(problem, tile, forward_h200())) continue;
        exact = true;
        EXPECT_EQ(variant.arithmetic(problem, tile), Arithmetic::float32) << describe(tile);
      }
      EXPECT_TRUE(exact) << variant.name;
    }
}

TEST(AttentionForward, RefusesAScaleThatTurnsMaximaIntoMinima) {
  for (const Variant& variant : flash()) {
    Problem problem = forward_problem(variant.op, DType::bfloat16, {1, 4096, 2, 64, 64});
    problem.scale = -1.0;
    expect_reason(variant, problem, forward_default(variant), forward_h200(), "scale");
  }
}

TEST(AttentionForward, AcceptedTilesFitTheLimits) {
  for (const Variant& variant : all_forward()) expect_forward_launches(variant);
}

TEST(AttentionForward, DoesAtLeastTheOperatorsWork) {
  for (const Variant& variant : all_forward()) expect_forward_work(variant);
}

TEST(AttentionForward, EveryDimensionAndDtypeHasATile) {
  for (const Variant& variant : all_forward())
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::int64_t k : {1, 16, 17, 64, 100, 128, 200, 256})
        for (const std::int64_t v : {1, 33, 128, 256})
          for (const char* gate : {"mild", "peaked"}) {
            Problem problem = forward_problem(variant.op, dtype, {1, 100, 2, k, v});
            problem.gate = gate;
            const std::vector<Tile> tiles = all_tiles(variant.space);
            EXPECT_TRUE(std::any_of(
                tiles.begin(), tiles.end(),
                [&](const Tile& tile) { return !variant.reject(problem, tile, forward_h200()); }))
                << variant.name << " on " << describe(problem);
          }
}

TEST(AttentionForward, DeclaresTheArithmeticOfItsProducts) {
  for (const Variant& variant : flash()) {
    Tile tile = forward_default(variant);
    EXPECT_EQ(variant.arithmetic(forward_problem(variant.op, DType::bfloat16, {}), tile),
              Arithmetic::bfloat16);
    EXPECT_EQ(variant.arithmetic(forward_problem(variant.op, DType::float16, {}), tile),
              Arithmetic::float16);
    EXPECT_EQ(variant.arithmetic(forward_problem(variant.op, DType::float32, {}), tile),
              Arithmetic::tf32);
    tile["terms"] = 3;
    EXPECT_EQ(variant.arithmetic(forward_problem(variant.op, DType::float32, {}), tile),
              Arithmetic::float32);
  }
}

TEST(AttentionForward, PlacesInSharedMemoryAreAlignedAndApart) {
  for (const int k : {1, 16, 37, 128, 256})
    for (const int v : {1, 72, 128})
      for (const int bytes : {2, 4})
        for (const int warps_n : {1, 2, 4})
          for (const int stages : {1, 2}) {
            const FlashLayout at{{k, v, bytes, 64, 64, 4 / warps_n, warps_n, stages, true}};
            EXPECT_GE(at.key_ld, k);
            EXPECT_GE(at.value_ld, v);
            // Rows a multiple of 16 bytes apart, an odd one: eight of them meet no bank twice.
            EXPECT_EQ(at.key_ld * 2 % 32, 16);
            for (const int place : {at.key_tiles, at.value_tiles, at.row_sums, at.key_sums})
              EXPECT_EQ(place % 16, 0);
            EXPECT_GE(at.key_tiles, 64 * at.key_ld * bytes);
            EXPECT_GE(at.value_tiles - at.key_tiles, stages * 64 * at.key_ld * bytes);
            EXPECT_GE(at.row_sums - at.value_tiles, stages * 64 * at.value_ld * bytes);
            EXPECT_GE(at.key_sums - at.row_sums, 64 * 16);
            EXPECT_GE(at.bytes - at.key_sums, stages * 64 * 16);
            if (warps_n > 1) {
              EXPECT_GE(at.bytes, warps_n * 64 * (v * 4 + 8));
            }
          }
}

TEST(AttentionForward, FlashCoversEveryQueryOfEveryHead) {
  for (const Variant& variant : {flash1("attention"), flash2("attention")})
    for_each_forward(variant, [&](const Problem& problem, const Tile& tile) {
      const Recipe recipe = std::get<0>(variant.code)(problem, tile);
      const auto* launch = launch_of(recipe, "attention_flash");
      ASSERT_NE(launch, nullptr);
      EXPECT_EQ(recipe.steps.size(), 1u);
      const Shape& s = problem.shape;
      EXPECT_EQ(launch->grid.x, s.batch * s.heads * ceil_div(s.seq, tile.at("block_m")));
      EXPECT_EQ(launch->block.x, static_cast<unsigned>(32 * tile.at("warps")));
    });
}

TEST(AttentionForward, DecodingTakesAGroupsHeadsTogetherWithoutDecay) {
  const Shape shape{2, 3, 8, 64, 64, 1000, 2};
  const auto blocks = [&](const Variant& variant) {
    Tile tile = forward_default(variant);
    tile["split"] = 256;
    const Problem problem = forward_problem(variant.op, DType::bfloat16, shape);
    const Recipe recipe = std::get<0>(variant.code)(problem, tile);
    EXPECT_EQ(launch_of(recipe, "attention_merge")->grid.x, 2u * 3 * 8);
    return launch_of(recipe, "attention_split")->grid.x;
  };
  // 12 rows of a group fill one tile of 16; four splits.
  EXPECT_EQ(blocks(flash_decoding("attention")), 2u * 2 * 4);
  EXPECT_EQ(blocks(flash_decoding("decay_attention")), 2u * 8 * 4);
}

TEST(AttentionForward, DecayBringsItsSumsFirst) {
  for (const Variant& variant : {flash2("decay_attention"), flash_decoding("decay_attention"),
                                 materialized("decay_attention")}) {
    const Problem problem = forward_problem(variant.op, DType::bfloat16, {2, 3000, 4, 64, 64});
    const Tile tile = forward_default(variant);
    const std::vector<Region> regions = variant.workspace(problem, tile);
    ASSERT_GE(regions.size(), 2u);
    EXPECT_EQ(regions[0].name, "decay_sums");
    EXPECT_EQ(regions[0].bytes, 2u * 3000 * 4 * 16);
    EXPECT_EQ(regions[1].bytes, 2u * 3 * 4 * 16);
    const Recipe recipe = std::get<0>(variant.code)(problem, tile);
    EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).entry, "decay_totals");
    EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).entry, "decay_prefix");
    EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).grid.x, 2u * 3 * 4);
  }
}

// About 4LD + 4L^2 elements against one pass.
TEST(AttentionForward, MaterializedMovesTheSquareFlashDoesNot) {
  const double length = 8192, dim = 64;
  Problem problem = forward_problem("attention", DType::float32, {1, 8192, 1, 64, 64});
  problem.options["causal"] = "false";
  const auto elements = [&](const Variant& variant) {
    const Traffic bytes = variant.traffic(problem, forward_default(variant));
    return (bytes.read_bytes + bytes.write_bytes) / 4;
  };
  EXPECT_EQ(elements(materialized("attention")), 4 * length * dim + 4 * length * length);
  EXPECT_EQ(elements(flash2("attention")), 4 * length * dim);
}

/// What lengths there are only the device knows: launches have a place for each block that any may
/// need.
TEST(AttentionForward, LaunchesPlacesForAllBlocksOfRaggedSequences) {
  for (const Variant& variant :
       {flash1("attention"), flash2("attention"), flash2("decay_attention")}) {
    Problem problem = forward_problem(variant.op, DType::bfloat16, {1, 700, 3, 64, 64, 900, 1});
    problem.shape.sequences = 40;
    const Tile usual = forward_default(variant);
    ASSERT_EQ(variant.reject(problem, usual, forward_h200()), std::nullopt) << variant.name;
    const Recipe recipe = std::get<0>(variant.code)(problem, usual);
    const KernelLaunch* launch = launch_of(recipe, "attention_flash");
    ASSERT_NE(launch, nullptr);
    EXPECT_EQ(launch->grid.x, 3u * (700 / 128 + 40));
    if (variant.op != "decay_attention") continue;
    EXPECT_EQ(launch_of(recipe, "decay_totals")->grid.x, 3u * (900 / 1024 + 40));
  }
  for (const Variant& variant :
       {materialized("attention"), flash_decoding("attention"), flash_decoding_pp("attention")}) {
    Problem problem = forward_problem("attention", DType::bfloat16, {1, 700, 3, 64, 64, 900, 1});
    problem.shape.sequences = 40;
    expect_reason(variant, problem, forward_default(variant), forward_h200(), "cu_seqlens");
  }
}

/// How many keys a sequence has only the device knows: launches are those of the longest.
TEST(AttentionForward, DecodesPagedKeysAndOthersRefuseThem) {
  for (const Variant& variant : all_forward()) {
    const Tile usual = forward_default(variant);
    Problem problem = forward_problem(variant.op, DType::bfloat16, {3, 1, 4, 64, 64, 5000, 2});
    const auto grid = [&](const char* entry) {
      return launch_of(std::get<0>(variant.code)(problem, usual), entry)->grid.x;
    };
    const bool decodes = variant.name.starts_with("flash_decoding");
    const unsigned before = decodes ? grid("attention_split") : 0;
    problem.options["page_size"] = "16";
    if (!decodes) {
      expect_reason(variant, problem, usual, forward_h200(), "block_table");
      continue;
    }
    ASSERT_EQ(variant.reject(problem, usual, forward_h200()), std::nullopt);
    EXPECT_EQ(grid("attention_split"), before);
    for (const Constant& one : std::get<0>(variant.code)(problem, usual).constants)
      if (one.name == "page_size") {
        EXPECT_EQ(one.value, 16);
      }
    EXPECT_GE(
        variant.traffic(problem, usual).read_bytes + variant.traffic(problem, usual).write_bytes,
        find_operator(variant.op)->work(problem).floor_bytes);
  }
}

}  // namespace
}  // namespace gla_bench::softmax_attention
