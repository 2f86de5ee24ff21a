#include "kernels/softmax_attention/sm90/flash_sm90.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "kernels/softmax_attention/sm90/layout.h"
#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

const Variant& plain() {
  static const Variant variant = flash_sm90("attention");
  return variant;
}
const Variant& decaying() {
  static const Variant variant = flash_sm90("decay_attention");
  return variant;
}

Problem in_bfloat16(const Shape& shape) {
  return forward_problem("attention", DType::bfloat16, shape);
}
Problem with_decay(const Shape& shape) {
  return forward_problem("decay_attention", DType::bfloat16, shape);
}

Tile tile(int block_m, int block_n, int stages) {
  Tile t = forward_default(plain());
  t["block_m"] = block_m, t["block_n"] = block_n, t["stages"] = stages;
  return t;
}

std::string refusal(const Problem& problem, const Tile& tile,
                    const Limits& limits = forward_h200()) {
  const Variant& variant = problem.op == "attention" ? plain() : decaying();
  return variant.reject(problem, tile, limits).value_or("taken");
}

Recipe recipe_of(const Problem& problem, const Tile& tile) {
  const Variant& variant = problem.op == "attention" ? plain() : decaying();
  return std::get<0>(variant.code)(problem, tile);
}

std::vector<KernelLaunch> launches(const Recipe& recipe) {
  std::vector<KernelLaunch> list;
  for (const Step& step : recipe.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) list.push_back(*launch);
  return list;
}

TEST(FlashSm90, RejectsByNameAndNeverThrows) {
  for (const Variant& variant : {plain(), decaying()}) {
    const Problem problem = forward_problem(variant.op, DType::bfloat16, {1, 4096, 2, 64, 64});
    EXPECT_EQ(variant.reject(problem, forward_default(variant), forward_h200()), std::nullopt);
    expect_forward_reject(variant, problem);
  }
  const Tile usual = tile(128, 128, 2);
  const Problem problem = in_bfloat16({1, 4096, 2, 64, 64});
  Limits ampere = forward_h200();
  ampere.arch = 80;
  EXPECT_EQ(refusal(problem, usual, ampere), "needs sm_90a: wgmma and bulk tensor copies");
  Problem other = problem;
  other.dtype = DType::float32;
  EXPECT_EQ(refusal(other, usual), "takes 16-bit inputs alone");
  other.dtype = DType::float16;
  EXPECT_EQ(refusal(other, usual), "taken");
  for (const Shape& wide : {Shape{1, 64, 1, 264, 64}, Shape{1, 64, 1, 64, 264}})
    EXPECT_EQ(refusal(in_bfloat16(wide), usual), "key_dim and value_dim go up to 256");
  for (const Shape& odd : {Shape{1, 64, 1, 100, 64}, Shape{1, 64, 1, 64, 37}})
    EXPECT_EQ(refusal(in_bfloat16(odd), usual),
              "bulk copies need rows of a multiple of 16 bytes: key_dim and value_dim of 8");
  for (const double scale : {0.0, -1.0}) {
    other = problem;
    other.scale = scale;
    EXPECT_EQ(refusal(other, usual), "needs a scale above zero");
  }
  other = problem;
  other.shape.key_seq = (std::int64_t{1} << 30) + 1;
  EXPECT_EQ(refusal(other, usual), "seq and key_seq go up to 2^30");
  other = problem;
  other.shape.batch = other.shape.heads = std::int64_t{1} << 20;
  EXPECT_NE(refusal(other, usual).find("blocks"), std::string::npos) << refusal(other, usual);
  // Few queries, but a block for each tile of keys of every head.
  other = with_decay({1 << 10, 1, 1 << 10, 64, 64});
  other.shape.key_seq = std::int64_t{1} << 20;
  EXPECT_NE(refusal(other, usual).find("blocks"), std::string::npos) << refusal(other, usual);
}

TEST(FlashSm90, RegistersDecideHowWideATileIs) {
  const Problem of_64 = in_bfloat16({2, 8192, 16, 64, 64});
  const Problem of_128 = in_bfloat16({1, 16384, 16, 128, 128});
  const Problem of_256 = in_bfloat16({2, 8192, 16, 256, 256});
  // Outputs, scores and weights of a thread, and 36 besides: 64 + 88 + 44 + 36.
  EXPECT_EQ(refusal(of_128, tile(128, 176, 2)), "taken");
  EXPECT_EQ(refusal(of_256, tile(128, 112, 2)), "about 248 registers a thread, 240 are there");
  EXPECT_EQ(refusal(of_256, tile(128, 80, 2)), "taken");
  EXPECT_EQ(refusal(of_64, tile(192, 128, 2)), "taken");
  EXPECT_EQ(refusal(of_64, tile(192, 160, 2)), "about 188 registers a thread, 160 are there");
  EXPECT_EQ(refusal(of_128, tile(192, 128, 2)), "about 196 registers a thread, 160 are there");
  // A decay takes 16 more.
  const Problem decayed = with_decay(of_64.shape);
  EXPECT_EQ(refusal(decayed, tile(192, 128, 2)), "about 180 registers a thread, 160 are there");
  EXPECT_EQ(refusal(decayed, tile(192, 96, 2)), "taken");
}

TEST(FlashSm90, SharedMemoryDecidesHowManyStagesThereAre) {
  const Shape shape{1, 16384, 16, 128, 128};
  EXPECT_EQ(refusal(in_bfloat16(shape), tile(128, 128, 3)), "taken");
  EXPECT_EQ(refusal(in_bfloat16(shape), tile(128, 128, 4)),
            "296096 bytes of shared memory, 232448 are there");
  EXPECT_EQ(refusal(with_decay(shape), tile(128, 128, 3)),
            "238256 bytes of shared memory, 232448 are there");
  EXPECT_EQ(refusal(with_decay(shape), tile(128, 128, 2)), "taken");
}

FlashSm90Layout layout_of(int key_dim, int value_dim, int consumers, int block_n, int stages,
                          bool decay) {
  return {key_dim, value_dim, consumers, block_n, stages, decay};
}

TEST(FlashSm90, PlacesInSharedMemoryOfTheHeadlinesTiles) {
  const FlashSm90Layout plain = layout_of(128, 128, 2, 128, 2, false);
  EXPECT_EQ(plain.threads, 384);
  EXPECT_EQ(plain.block_m, 128);
  EXPECT_EQ(plain.arriving_queries, 64 * 128 * 2);
  EXPECT_EQ(plain.arriving_keys, 128 * 128 * 2);
  EXPECT_EQ(plain.arriving_values, 128 * 128 * 2);
  EXPECT_EQ(plain.keys, 32768);
  EXPECT_EQ(plain.values_at, 98304);
  EXPECT_EQ(plain.biases, 163840);
  EXPECT_EQ(plain.barriers, 163840);
  EXPECT_EQ(plain.barrier_count, 12);
  EXPECT_EQ(plain.bytes, 163840 + 12 * 8 + 1024);
  const FlashSm90Layout decay = layout_of(128, 128, 2, 128, 2, true);
  // A bias for each key and 16 bytes for the tile, and a sum of 16 bytes for each key.
  EXPECT_EQ(decay.arriving_biases, 16 + 128 * 4);
  EXPECT_EQ(decay.sums - decay.biases, 2 * (16 + 128 * 4));
  EXPECT_EQ(decay.barriers - decay.sums, 2 * 128 * 16);
  EXPECT_EQ(decay.bytes, plain.bytes + 2 * 128 * 20 + 2 * 16);
  const FlashSm90Layout three = layout_of(64, 64, 3, 128, 2, false);
  EXPECT_EQ(three.threads, 512);
  EXPECT_EQ(three.block_m, 192);
  EXPECT_EQ(three.keys, 3 * 8192);
  EXPECT_EQ(three.barrier_count, 14);
  const FlashSm90Layout wide = layout_of(256, 256, 2, 80, 2, false);
  EXPECT_EQ(wide.keys, 65536);
  EXPECT_EQ(wide.arriving_keys, 80 * 256 * 2);
  EXPECT_EQ(wide.bytes, 65536 + 4 * 40960 + 96 + 1024);
}

TEST(FlashSm90, PlacesInSharedMemoryAreApartAndAligned) {
  for (const int key_dim : {8, 64, 72, 128, 256})
    for (const int value_dim : {8, 96, 200})
      for (const int consumers : {2, 3})
        for (const int block_n : {64, 80, 112})
          for (const int stages : {2, 3})
            for (const bool decay : {false, true}) {
              const FlashSm90Layout at =
                  layout_of(key_dim, value_dim, consumers, block_n, stages, decay);
              // The 128-byte swizzle repeats every 1024 bytes.
              for (const int place : {at.row_panel, at.tile_panel, at.keys, at.values_at})
                EXPECT_EQ(place % 1024, 0);
              for (const int place : {at.biases, at.arriving_biases, at.sums})
                EXPECT_EQ(place % 16, 0);
              EXPECT_EQ(at.barriers % 8, 0);
              EXPECT_GE(at.key_panels * 64, key_dim);
              EXPECT_GE(at.value_panels * 64, value_dim);
              EXPECT_GE(at.values, value_dim);
              // Outputs lie where the queries were.
              EXPECT_GE(at.consumer_bytes, at.value_panels * at.row_panel);
              EXPECT_GE(at.consumer_bytes, at.arriving_queries);
              EXPECT_GE(at.values_at - at.keys, stages * at.arriving_keys);
              EXPECT_GE(at.biases - at.values_at, stages * at.arriving_values);
              EXPECT_GE(at.barriers - at.biases, decay ? stages * (block_n * 20 + 16) : 0);
              EXPECT_EQ(at.bytes, at.barriers + at.barrier_count * 8 + 1024);
            }
}

TEST(FlashSm90, AcceptedTilesFitTheLimits) {
  for (const Variant& variant : {plain(), decaying()})
    expect_forward_launches(variant, bulk_copied(forward_problems(variant.op)));
}

TEST(FlashSm90, DoesAtLeastTheOperatorsWork) {
  for (const Variant& variant : {plain(), decaying()})
    expect_forward_work(variant, bulk_copied(forward_problems(variant.op)));
}

TEST(FlashSm90, EveryDimensionThatBulkCopiesTakeHasATile) {
  for (const Variant& variant : {plain(), decaying()})
    for (const std::int64_t k : {8, 64, 72, 128, 192, 256})
      for (const std::int64_t v : {8, 64, 104, 128, 200, 256}) {
        const Problem problem = forward_problem(variant.op, DType::float16, {1, 100, 2, k, v});
        const std::vector<Tile> tiles = all_tiles(variant.space);
        EXPECT_TRUE(std::any_of(tiles.begin(), tiles.end(), [&](const Tile& tile) {
          return !variant.reject(problem, tile, forward_h200());
        })) << describe(problem);
      }
}

TEST(FlashSm90, BlocksStayForSeveralItemsOnlyWhereTheTileSaysSo) {
  const auto grid = [](const Shape& shape, Tile t, int persistent) {
    t["persistent"] = persistent;
    const std::vector<KernelLaunch> list = launches(recipe_of(in_bfloat16(shape), t));
    EXPECT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].entry, "flash_sm90");
    return list[0].grid.x;
  };
  const Shape large{1, 16384, 16, 128, 128}, small{2, 300, 3, 64, 64};
  EXPECT_EQ(grid(large, tile(128, 128, 2), 0), 16u * 128);
  EXPECT_EQ(grid(large, tile(128, 128, 2), 1), 132u);
  EXPECT_EQ(grid(small, tile(128, 128, 2), 0), 6u * 3);  // the third item of a head is partial
  EXPECT_EQ(grid(small, tile(128, 128, 2), 1), 6u * 3);
  EXPECT_EQ(grid(small, tile(192, 128, 2), 1), 6u * 2);
}

TEST(FlashSm90, BlocksThatShareItemsHaveACounterThatIsZeroedFirst) {
  Tile shared = tile(128, 128, 2);
  shared["persistent"] = 2;
  for (const Problem& problem :
       {in_bfloat16({1, 16384, 16, 128, 128}), with_decay({1, 16384, 16, 128, 128})}) {
    const Variant& variant = problem.op == "attention" ? plain() : decaying();
    const std::vector<Region> regions = variant.workspace(problem, shared);
    ASSERT_EQ(regions.size(), variant.workspace(problem, tile(128, 128, 2)).size() + 1);
    EXPECT_EQ(regions.back().name, "items_taken");
    EXPECT_EQ(regions.back().bytes, 4u);
    const Recipe recipe = recipe_of(problem, shared);
    ASSERT_GE(recipe.steps.size(), 2u);
    EXPECT_EQ(std::get<Zero>(recipe.steps[recipe.steps.size() - 2]).buffer, "items_taken");
    const KernelLaunch launch = launches(recipe).back();
    EXPECT_EQ(launch.grid.x, 132u);
    // The numbers of two items, and two barriers for each.
    EXPECT_EQ(launch.shared_bytes,
              launches(recipe_of(problem, tile(128, 128, 2))).back().shared_bytes + 2 * (4 + 16));
  }
}

TEST(FlashSm90, ALaunchHasAWarpgroupMoreThanMultiplyAndTheLayoutsMemory) {
  const Recipe two = recipe_of(in_bfloat16({1, 4096, 2, 128, 128}), tile(128, 128, 2));
  EXPECT_EQ(launches(two)[0].block.x, 384u);
  EXPECT_EQ(launches(two)[0].shared_bytes, 164960u);
  EXPECT_EQ(std::count(two.constants.begin(), two.constants.end(),
                       Constant{"launch", "shared_bytes", 164960}),
            1);
  EXPECT_TRUE(two.imports.empty());
  const Recipe three = recipe_of(in_bfloat16({1, 4096, 2, 64, 64}), tile(192, 128, 2));
  EXPECT_EQ(launches(three)[0].block.x, 512u);
}

TEST(FlashSm90, CopiesBringPanelsOf64ColumnsOfOneHead) {
  Problem problem = in_bfloat16({2, 4096, 6, 128, 72, 5000, 2});
  const Recipe recipe = recipe_of(problem, tile(128, 96, 2));
  ASSERT_EQ(recipe.tensor_maps.size(), 4u);
  const auto expect_map = [](const TensorMap& map, std::size_t place, const char* buffer,
                             const std::vector<std::int64_t>& extents,
                             const std::vector<std::int64_t>& strides, int rows) {
    EXPECT_EQ(map.offset, place * 128);
    EXPECT_EQ(map.buffer, buffer);
    EXPECT_EQ(map.extents, extents) << buffer;
    EXPECT_EQ(map.strides, strides) << buffer;
    EXPECT_EQ(map.box, (std::vector<int>{64, rows, 1, 1})) << buffer;
    EXPECT_EQ(map.swizzle_bytes, 128);
  };
  const auto& maps = recipe.tensor_maps;
  expect_map(maps[0], 0, "q", {128, 4096, 6, 2}, {6 * 128, 128, 4096 * 6 * 128}, 64);
  expect_map(maps[1], 1, "k", {128, 5000, 2, 2}, {2 * 128, 128, 5000 * 2 * 128}, 96);
  expect_map(maps[2], 2, "v", {72, 5000, 2, 2}, {2 * 72, 72, 5000 * 2 * 72}, 96);
  expect_map(maps[3], 3, "o", {72, 4096, 6, 2}, {6 * 72, 72, 4096 * 6 * 72}, 64);
  problem = in_bfloat16({2, 4096, 6, 128, 72});
  problem.layout = Layout::head_first;
  expect_map(recipe_of(problem, tile(128, 96, 2)).tensor_maps[0], 0, "q", {128, 4096, 6, 2},
             {128, 4096 * 128, 6 * 4096 * 128}, 64);
}

TEST(FlashSm90, RowsOfAProjectionAreFurtherApartOnlyInTheInputs) {
  Problem problem = in_bfloat16({2, 4096, 3, 128, 64});
  problem.options["packed"] = "true";
  const std::vector<TensorMap> maps = recipe_of(problem, tile(128, 128, 2)).tensor_maps;
  const std::int64_t row = 3 * (2 * 128 + 64);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t dim = i == 2 ? 64 : 128;
    EXPECT_EQ(maps[i].strides, (std::vector<std::int64_t>{row, dim, 4096 * row})) << i;
  }
  EXPECT_EQ(maps[3].strides, (std::vector<std::int64_t>{3 * 64, 64, 4096 * 3 * 64}));
}

TEST(FlashSm90, ParametersStandBehindFourTensorMaps) {
  std::map<std::string, std::byte> buffers;
  const Address address = [&](std::string_view name) -> void* {
    return &buffers[std::string(name)];
  };
  for (const Problem& problem :
       {in_bfloat16({1, 256, 2, 64, 64}), with_decay({1, 256, 2, 64, 64})}) {
    const Variant& variant = problem.op == "attention" ? plain() : decaying();
    const ParamBytes bytes = variant.bind(problem, tile(128, 128, 2), address);
    EXPECT_EQ(bytes.size() % 64, 0u);
    ASSERT_GE(bytes.size(), 512 + sizeof(AttentionParams));
    AttentionParams params;
    std::memcpy(&params, bytes.data() + 512, sizeof params);
    EXPECT_EQ(params.q, address("q"));
    EXPECT_EQ(params.seq, 256);
    EXPECT_EQ(params.work[0], problem.op == "attention" ? nullptr : address("decay_sums"));
    EXPECT_EQ(params.work[2], problem.op == "attention" ? nullptr : address("first_tiles"));
    EXPECT_EQ(params.work[5], problem.op == "attention" ? nullptr : address("key_biases"));
  }
}

TEST(FlashSm90, ADecayFirstFindsHowFarItemsLookBack) {
  const Problem problem = with_decay({2, 3000, 4, 64, 64});
  const Recipe recipe = recipe_of(problem, tile(128, 96, 2));
  const std::vector<KernelLaunch> list = launches(recipe);
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0].entry, "decay_totals");
  EXPECT_EQ(list[1].entry, "decay_prefix");
  EXPECT_EQ(list[1].grid.x, 2u * 4 * 3);  // chunks of 1024
  EXPECT_EQ(list[2].entry, "attention_bounds");
  EXPECT_EQ(list[2].grid.x, 2u * 4 * 32);  // tiles of 96 keys
  EXPECT_EQ(list[3].entry, "attention_first_tiles");
  EXPECT_EQ(list[3].grid.x, 2u * 4 * 24 / 4);  // a warp for each item of 128 queries
  EXPECT_EQ(list[4].entry, "flash_sm90");
  EXPECT_EQ(list[4].module, 0);
  ASSERT_EQ(recipe.imports.size(), 1u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(list[i].module, 1) << i;
  // More queries than keys: blocks for the tokens that are more.
  const Recipe few_keys = recipe_of(with_decay({1, 1000, 2, 64, 64, 200}), tile(128, 128, 2));
  EXPECT_EQ(launches(few_keys)[2].grid.x, 2u * 8);
}

TEST(FlashSm90, TheWorkspaceHoldsTheSumsAndWhatBoundsTheTiles) {
  EXPECT_TRUE(plain().workspace(in_bfloat16({2, 3000, 4, 64, 64}), tile(128, 128, 2)).empty());
  const Problem problem = with_decay({2, 3000, 4, 64, 64});
  const std::vector<Region> regions = decaying().workspace(problem, tile(128, 96, 2));
  ASSERT_EQ(regions.size(), 6u);
  EXPECT_EQ(regions[0].bytes, 2u * 4 * 3000 * 16);
  EXPECT_EQ(regions[1].bytes, 2u * 4 * 3 * 16);
  EXPECT_EQ(regions[2].name, "first_tiles");
  EXPECT_EQ(regions[2].bytes, 2u * 4 * 24 * 4);
  EXPECT_EQ(regions[3].name, "tile_bounds");
  EXPECT_EQ(regions[3].bytes, 2u * 4 * 32 * 32);
  EXPECT_EQ(regions[4].name, "item_bounds");
  EXPECT_EQ(regions[4].bytes, 2u * 4 * 24 * 16);
  // Of whole tiles, so that each is one copy.
  EXPECT_EQ(regions[5].name, "key_biases");
  EXPECT_EQ(regions[5].bytes, 2u * 4 * 32 * (16 + 96 * 4));
}

TEST(FlashSm90, EachTensorIsMovedOnceAndAQueryAndKeyOnceMoreWithADecay) {
  const double tensor = 2.0 * 3000 * 4 * 64 * 2, lse = 2.0 * 3000 * 4 * 4;
  const Tile chosen = tile(128, 128, 2);
  Problem problem = in_bfloat16({2, 3000, 4, 64, 64});
  Traffic bytes = plain().traffic(problem, chosen);
  EXPECT_EQ(bytes.read_bytes, 3 * tensor);
  EXPECT_EQ(bytes.write_bytes, tensor);
  problem.options["lse"] = "true";
  EXPECT_EQ(plain().traffic(problem, chosen).write_bytes, tensor + lse);
  bytes = decaying().traffic(with_decay(problem.shape), chosen);
  const double log_decays = 2.0 * 3000 * 4 * 2;
  const double sums = 2.0 * 4 * (3000 + 3) * 16;                      // and totals of three chunks
  const double bounds = 2.0 * 4 * 24 * (4 + 16) + 2.0 * 4 * 24 * 32;  // 24 items, 24 tiles
  const double biases = 2.0 * 4 * 24 * (16 + 128 * 4);
  EXPECT_EQ(bytes.read_bytes, 5 * tensor + 2 * log_decays + sums + bounds + biases);
  EXPECT_EQ(bytes.write_bytes, tensor + sums + bounds + biases);
}

TEST(FlashSm90, OperationsAreThoseOfWholeTiles) {
  Problem problem = in_bfloat16({1, 16384, 1, 128, 128});
  const auto flops = [&](int block_m, int block_n) {
    return plain().flops(problem, tile(block_m, block_n, 2));
  };
  // Of 128 items the n-th sees n tiles of 128 x 128.
  EXPECT_EQ(flops(128, 128), 2.0 * (128 * 129 / 2) * 128 * 128 * 256);
  EXPECT_EQ(flops(128, 64), 2.0 * (128 * 129) * 128 * 64 * 256);
  problem.options["causal"] = "false";
  EXPECT_EQ(flops(128, 128), 2.0 * 16384 * 16384 * 256);
  problem.shape = {1, 100, 1, 64, 64, 130};
  EXPECT_EQ(flops(128, 128), 2.0 * 128 * 256 * 128);
  EXPECT_EQ(flops(192, 128), 2.0 * 192 * 256 * 128);
}

// A decay cannot be known beforehand: counted is what is walked over without one.
TEST(FlashSm90, ADecayCountsAsManyOperationsAsNone) {
  EXPECT_EQ(decaying().flops(with_decay({1, 4096, 2, 64, 64}), tile(128, 128, 2)),
            plain().flops(in_bfloat16({1, 4096, 2, 64, 64}), tile(128, 128, 2)));
}

TEST(FlashSm90, DeclaresTheArithmeticOfItsInputs) {
  for (const DType dtype : {DType::bfloat16, DType::float16})
    EXPECT_EQ(plain().arithmetic(forward_problem("attention", dtype, {}), tile(128, 128, 2)),
              dtype == DType::bfloat16 ? Arithmetic::bfloat16 : Arithmetic::float16);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
