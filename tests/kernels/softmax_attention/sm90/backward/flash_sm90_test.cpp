#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "kernels/softmax_attention/sm90/backward/layout.h"
#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/forward_problems.hpp"
#include "tests/kernels/softmax_attention/sm90/backward/recipes.hpp"

namespace gla_bench::softmax_attention {
namespace {

std::string refused(const Problem& problem, const Tile& tile,
                    const Limits& limits = backward_h200()) {
  return flash_backward(problem.op).reject(problem, tile, limits).value_or("taken");
}

/// Of the shared problems those that the variant takes: rows for bulk copies, 256 columns at most.
std::vector<Problem> its_problems(std::string_view op) {
  std::vector<Problem> list = bulk_copied(backward_problems(op));
  std::erase_if(list, [](const Problem& problem) {
    return problem.shape.key_dim > 256 || problem.shape.value_dim > 256;
  });
  return list;
}

TEST(BackwardFlashSm90, RejectsByNameAndNeverThrows) {
  const Problem problem = gradients_of({1, 4096, 2, 128, 128});
  EXPECT_EQ(refused(problem, steps_of(64, 2)), "taken");
  EXPECT_EQ(refused(gradients_of(problem.shape, DType::float16), steps_of(64, 2)), "taken");
  EXPECT_EQ(refused(gradients_of(problem.shape, DType::float32), steps_of(64, 2)),
            "takes 16-bit inputs alone");
  Limits ampere = backward_h200();
  ampere.arch = 80;
  EXPECT_EQ(refused(problem, steps_of(64, 2), ampere),
            "needs sm_90a: wgmma and bulk tensor copies");
  for (const Shape& wide : {Shape{1, 64, 1, 264, 64}, Shape{1, 64, 1, 64, 264}})
    EXPECT_EQ(refused(gradients_of(wide), steps_of(64, 2)),
              "key_dim and value_dim go up to 256: a thread has no room for sums of more");
  for (const Shape& odd : {Shape{1, 64, 1, 100, 64}, Shape{1, 64, 1, 64, 37}})
    EXPECT_EQ(refused(gradients_of(odd), steps_of(64, 2)),
              "bulk copies need rows of a multiple of 16 bytes: key_dim and value_dim of 8");
  for (const Tile& tile : {Tile{}, steps_of(32, 2), steps_of(64, 4), steps_of(64, 0)})
    EXPECT_NE(refused(problem, tile).find("is not one of"), std::string::npos);
  Problem other = problem;
  other.direction = Direction::forward;
  EXPECT_NE(refused(other, steps_of(64, 2)).find("backward only"), std::string::npos);
  other = problem;
  other.shape.heads = 6, other.shape.key_heads = 4;
  EXPECT_NE(refused(other, steps_of(64, 2)).find("key_heads"), std::string::npos);
  other = problem;
  other.shape.batch = other.shape.heads = std::int64_t{1} << 20;
  EXPECT_NE(refused(other, steps_of(64, 2)).find("blocks"), std::string::npos);
  Limits little = backward_h200();
  little.memory_bytes = 256;
  EXPECT_NE(refused(problem, steps_of(64, 2), little).find("workspace"), std::string::npos);
}

TEST(BackwardFlashSm90, TheKeysColumnsDecideHowManyQueriesAStepHas) {
  const Problem wide = gradients_of({1, 4096, 2, 128, 128});
  const Problem narrow = gradients_of({1, 4096, 2, 64, 64});
  EXPECT_EQ(refused(wide, steps_of(128, 2)), "128 queries are for a key_dim of up to 64");
  EXPECT_EQ(refused(narrow, steps_of(128, 2)), "taken");
  EXPECT_EQ(refused(narrow, steps_of(64, 2)), "taken");
  EXPECT_EQ(refused(gradients_of({1, 4096, 2, 72, 8}), steps_of(64, 2)), "taken");
  // Sums of 64 keys and 128 values, and 128 scores.
  EXPECT_EQ(refused(gradients_of({1, 4096, 2, 64, 128}), steps_of(128, 2)),
            "224 sums a thread, there is room for 192");
  EXPECT_EQ(refused(gradients_of({1, 4096, 2, 32, 96}), steps_of(128, 1)), "taken");
  EXPECT_EQ(refused(gradients_of({1, 4096, 2, 64, 128}), steps_of(64, 2)), "taken");
}

TEST(BackwardFlashSm90, SharedMemoryDecidesHowManyStagesThereAre) {
  EXPECT_EQ(refused(gradients_of({1, 4096, 2, 128, 128}), steps_of(64, 3)), "taken");
  EXPECT_EQ(refused(gradients_of({1, 4096, 2, 64, 64}), steps_of(128, 3)),
            "233608 bytes of shared memory, 232448 are there");
  EXPECT_EQ(refused(gradients_with_decay({1, 4096, 2, 128, 128}), steps_of(64, 2)), "taken");
  EXPECT_EQ(refused(gradients_with_decay({1, 4096, 2, 128, 128}), steps_of(64, 3)),
            "239288 bytes of shared memory, 232448 are there");
}

BackwardSm90Layout backward_layout_of(int key_dim, int value_dim, int block_m, int stages,
                                      Decay decay = Decay::none) {
  return {key_dim, value_dim, block_m, stages, static_cast<int>(decay)};
}

TEST(BackwardFlashSm90, PlacesInSharedMemoryOfTheHeadlinesTiles) {
  const BackwardSm90Layout wide = backward_layout_of(128, 128, 64, 2);
  EXPECT_TRUE(wide.dq_by_columns);
  EXPECT_EQ(wide.arriving_keys, 2 * 128 * 128 * 2);
  EXPECT_EQ(wide.arriving_queries, 64 * 128 * 2);
  EXPECT_EQ(wide.arriving_gradients, 64 * 128 * 2);
  EXPECT_EQ(wide.gradient_bytes, 128 * 64 * 2);
  EXPECT_EQ(wide.values, 32768);
  EXPECT_EQ(wide.queries, 65536);
  EXPECT_EQ(wide.d_outputs, 98304);
  EXPECT_EQ(wide.gradients, 131072);
  EXPECT_EQ(wide.dq_at, 163840);
  EXPECT_EQ(wide.dq.first_width, 64);
  EXPECT_EQ(wide.step_floats, 64 * 128);
  EXPECT_EQ(wide.records, 196608);
  EXPECT_EQ(wide.record_bytes, 64 * 8);
  EXPECT_EQ(wide.barriers, 196608 + 2 * 64 * 8);
  EXPECT_EQ(wide.barrier_count, 13);
  EXPECT_EQ(wide.bytes, 198760);
  EXPECT_EQ(wide.accumulators, 192);
  // A sum of 16 bytes for each query and one for the step and, where decays vary, sums of dS of
  // eight warps, two steps.
  const BackwardSm90Layout decayed = backward_layout_of(128, 128, 64, 2, Decay::constant);
  EXPECT_EQ(decayed.pairs_at, 16);
  EXPECT_EQ(decayed.sums_at, 16 + 64 * 8);
  EXPECT_EQ(decayed.record_bytes, 16 + 64 * 8 + 64 * 16);
  EXPECT_EQ(decayed.bytes, 198760 + 2 * (16 + 64 * 16));
  EXPECT_EQ(backward_layout_of(128, 128, 64, 2, Decay::per_token).bytes,
            198760 + 2 * (16 + 64 * 16) + 2 * 8 * 64 * 4);
  const BackwardSm90Layout narrow = backward_layout_of(64, 64, 128, 2);
  EXPECT_FALSE(narrow.dq_by_columns);
  EXPECT_EQ(narrow.gradient_bytes, 128 * 128 * 2);
  EXPECT_EQ(narrow.dq_at, 163840);
  EXPECT_EQ(narrow.bytes, 199784);
  EXPECT_EQ(narrow.accumulators, 192);
  // Half of 64 columns is a consumer's.
  const BackwardSm90Layout halved = backward_layout_of(64, 128, 64, 2);
  EXPECT_TRUE(halved.dq_by_columns);
  EXPECT_EQ(halved.dq.second, 32);
  EXPECT_EQ(halved.dq.first_width, 32);
  EXPECT_EQ(halved.dq.second_width, 32);
  EXPECT_EQ(halved.accumulators, 160);
}

TEST(BackwardFlashSm90, PlacesInSharedMemoryAreApartAndAligned) {
  for (const int key_dim : {8, 64, 72, 128, 192, 256})
    for (const int value_dim : {8, 64, 104, 136})
      for (const int stages : {1, 2, 3})
        for (const Decay decay : {Decay::none, Decay::constant, Decay::per_token}) {
          BackwardSm90Layout at = backward_layout_of(
              key_dim, value_dim, key_dim > 64 || value_dim > 64 ? 64 : 128, stages, decay);
          EXPECT_EQ(at.by_columns, key_dim > 128 || value_dim > 128);
          for (const int place : {at.key_panel, at.query_panel, at.values, at.queries, at.d_outputs,
                                  at.gradients, at.dq_at})
            EXPECT_EQ(place % 1024, 0);
          for (const int place :
               {at.records, at.record_bytes, at.pairs_at, at.sums_at, at.query_sums})
            EXPECT_EQ(place % 16, 0);
          EXPECT_EQ(at.barriers % 8, 0);
          EXPECT_GE(at.key_width, key_dim);
          EXPECT_GE(at.value_width, value_dim);
          EXPECT_EQ(at.queries, at.arriving_keys);
          EXPECT_GE(at.d_outputs - at.queries, stages * at.arriving_queries);
          EXPECT_GE(at.gradients - at.d_outputs, stages * at.arriving_gradients);
          EXPECT_GE(at.dq_at - at.gradients, 2 * at.block_n * at.block_m * 2);
          EXPECT_EQ(at.records - at.dq_at, at.by_columns ? 0 : at.step_floats * 4);
          EXPECT_GE(at.query_sums - at.records, stages * at.record_bytes);
          EXPECT_GE(at.record_bytes, at.block_m * (decay == Decay::none ? 8 : 24));
          EXPECT_GE(at.barriers - at.query_sums,
                    decay == Decay::per_token ? 2 * at.block_n / 16 * at.block_m * 4 : 0);
          // Both consumers together hold a step's dq.
          EXPECT_GE(at.step_floats, at.block_m * key_dim);
        }
}

// Wide sums of dq have a place in shared memory only where one warp adds them in order.
TEST(BackwardFlashSm90, WideHeadsDivideColumns) {
  const Problem wide = gradients_of({1, 4096, 2, 256, 256});
  EXPECT_EQ(refused(wide, steps_of(64, 2)), "taken");
  EXPECT_NE(refused(wide, steps_of(64, 3)).find("shared memory"), std::string::npos);
  EXPECT_EQ(refused(wide, steps_of(128, 1)),
            "128 queries are for key_dim and value_dim of up to 128");
  EXPECT_EQ(refused(gradients_with_decay(wide.shape), steps_of(64, 2)), "taken");
  const Variant ordered = backward_flash_sm90_deterministic("attention");
  EXPECT_EQ(ordered.reject(wide, steps_of(64, 1), backward_h200()), std::nullopt);
  EXPECT_NE(ordered.reject(wide, steps_of(64, 2), backward_h200()), std::nullopt);
  const BackwardSm90Layout sizes = backward_layout_of(256, 256, 64, 2);
  EXPECT_EQ(sizes.block_n, 64);
  EXPECT_EQ(sizes.dk.second, 128);
  EXPECT_EQ(sizes.dq.most, 128);
  EXPECT_EQ(sizes.accumulators, 192);
  EXPECT_FALSE(sizes.dq_beside);
  const Recipe recipe = backward_recipe(wide, steps_of(64, 2));
  EXPECT_EQ(recipe.tensor_maps[1].box[1], 64);
  EXPECT_EQ(recipe.tensor_maps[4].box[1], 64);
}

TEST(BackwardFlashSm90, AcceptedTilesFitTheLimits) {
  for (const char* op : {"attention", "decay_attention"})
    expect_backward_launches(flash_backward(op), its_problems(op));
}

TEST(BackwardFlashSm90, DoesAtLeastTheOperatorsWork) {
  for (const char* op : {"attention", "decay_attention"})
    expect_backward_work(flash_backward(op), its_problems(op));
}

TEST(BackwardFlashSm90, LaunchesInOrderAndOnlyTheOthersFromTheSharedUnit) {
  const Shape shape{2, 1000, 4, 64, 64, 0, 2};
  const Recipe plain = backward_recipe(gradients_of(shape), steps_of(128, 2));
  EXPECT_EQ(steps_by_name(plain),
            (std::vector<std::string>{"flash_sm90_backward_queries", "flash_sm90_backward",
                                      "flash_sm90_backward_round"}));
  EXPECT_TRUE(plain.imports.empty());
  const Recipe half = backward_recipe(gradients_of(shape, DType::float16), steps_of(128, 2));
  EXPECT_EQ(steps_by_name(half),
            (std::vector<std::string>{"zero largest", "attention_backward_largest of sums.cuh",
                                      "flash_sm90_backward_queries", "flash_sm90_backward",
                                      "flash_sm90_backward_round"}));
  const auto& records = std::get<KernelLaunch>(plain.steps[0]);
  EXPECT_EQ(records.grid.x, 2u * 4 * 8);  // 128 queries of a head
  EXPECT_EQ(records.block.x, 256u);
  EXPECT_FALSE(records.overlaps);
  const auto& walk = std::get<KernelLaunch>(plain.steps[1]);
  // 128 keys of a key head, up to 16 steps in 5 parts.
  EXPECT_EQ(walk.grid.x, 2u * 2 * 8 * 5);
  EXPECT_TRUE(walk.overlaps);
  EXPECT_EQ(walk.block.x, 384u);
  EXPECT_EQ(walk.shared_bytes, 199784u);
  EXPECT_EQ(std::count(plain.constants.begin(), plain.constants.end(),
                       Constant{"launch", "shared_bytes", 199784}),
            1);
  // Steps of dq, and dv and dk of eight slices of each block of keys.
  EXPECT_EQ(std::get<KernelLaunch>(plain.steps[2]).grid.x, 2u * 4 * 8 + 2 * 2 * 2 * 8 * 8);
  EXPECT_TRUE(std::get<KernelLaunch>(plain.steps[2]).overlaps);
}

TEST(BackwardFlashSm90, ADecayFirstFindsHowFarQueriesLookBackAndIsSummedLast) {
  const std::vector<std::string> bounds{
      "decay_totals of first_tiles.cuh", "decay_prefix of first_tiles.cuh",
      "attention_bounds of first_tiles.cuh", "attention_first_tiles of first_tiles.cuh"};
  const std::vector<std::string> walk{"flash_sm90_backward_queries", "flash_sm90_backward",
                                      "flash_sm90_backward_round",
                                      "attention_backward_decay of sums.cuh"};
  for (const char* decay : {"constant", "per_token"}) {
    std::vector<std::string> expected;
    if (decay == std::string("per_token")) expected.push_back("zero query_sums");
    expected.insert(expected.end(), bounds.begin(), bounds.end());
    expected.insert(expected.end(), walk.begin(), walk.end());
    const Recipe recipe =
        backward_recipe(gradients_with_decay({2, 1000, 4, 64, 64}, decay), steps_of(128, 2));
    EXPECT_EQ(steps_by_name(recipe), expected);
    ASSERT_EQ(recipe.imports.size(), 2u);
  }
}

TEST(BackwardFlashSm90, TheWorkspaceHoldsDqOfWholeSteps) {
  const std::vector<Region> regions = flash_backward().workspace(
      gradients_of({2, 1000, 4, 64, 64, 0, 2}, DType::float16), steps_of(128, 2));
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[0].name, "largest");
  EXPECT_EQ(regions[0].bytes, 2u * 2 * 8);
  EXPECT_EQ(regions[1].name, "query_records");
  EXPECT_EQ(regions[1].bytes, 2u * 4 * 8 * 128 * 8);
  EXPECT_EQ(regions[2].name, "dq_sums");
  EXPECT_EQ(regions[2].bytes, 2u * 4 * 8 * 128 * 64 * 4);
  EXPECT_EQ(regions[3].name, "result_sums");
  EXPECT_EQ(regions[3].bytes, 5u * 2 * 2 * 8 * 128 * (64 + 64) * 4);
}

TEST(BackwardFlashSm90, InAFixedOrderEachStepHasACounterBehindTheSums) {
  const Problem problem = gradients_of({2, 1000, 4, 64, 64, 0, 2});
  const Variant ordered = backward_flash_sm90_deterministic("attention");
  EXPECT_TRUE(ordered.reproducible);
  const auto bytes_of_sums = [&](const Variant& variant) {
    const std::vector<Region> regions = variant.workspace(problem, steps_of(128, 2));
    return regions[1].name == "dq_sums" ? regions[1].bytes : 0;
  };
  EXPECT_EQ(bytes_of_sums(ordered), bytes_of_sums(flash_backward()) + 2 * 4 * 8 * 4);
  for (const bool fixed : {false, true}) {
    const Recipe recipe =
        std::get<0>((fixed ? ordered : flash_backward()).code)(problem, steps_of(128, 2));
    EXPECT_EQ(std::count(recipe.constants.begin(), recipe.constants.end(),
                         Constant{"tile", "deterministic", fixed}),
              1);
  }
}

TEST(BackwardFlashSm90, CopiesBringPanelsAndTakeHalvesOfTheKeysGradients) {
  const Recipe recipe =
      backward_recipe(gradients_of({2, 4096, 6, 128, 72, 5000, 2}), steps_of(64, 2));
  ASSERT_EQ(recipe.tensor_maps.size(), 6u);
  const char* buffers[] = {"q", "k", "v", "do", "dk", "dv"};
  const int rows[] = {64, 128, 128, 64, 64, 64};
  const std::int64_t columns[] = {128, 128, 72, 72, 128, 72};
  for (std::size_t i = 0; i < 6; ++i) {
    const TensorMap& map = recipe.tensor_maps[i];
    const bool of_queries = i == 0 || i == 3;
    const std::int64_t seq = of_queries ? 4096 : 5000, heads = of_queries ? 6 : 2;
    EXPECT_EQ(map.offset, i * 128);
    EXPECT_EQ(map.buffer, buffers[i]);
    EXPECT_EQ(map.extents, (std::vector<std::int64_t>{columns[i], seq, heads, 2})) << buffers[i];
    EXPECT_EQ(map.strides,
              (std::vector<std::int64_t>{heads * columns[i], columns[i], seq * heads * columns[i]}))
        << buffers[i];
    EXPECT_EQ(map.box, (std::vector<int>{64, rows[i], 1, 1})) << buffers[i];
    EXPECT_EQ(map.swizzle_bytes, 128);
  }
}

TEST(BackwardFlashSm90, GradientsOfAProjectionsRowsAreDense) {
  Problem problem = gradients_of({2, 4096, 3, 64, 64});
  problem.options["packed"] = "true";
  const std::vector<TensorMap> maps = backward_recipe(problem, steps_of(128, 2)).tensor_maps;
  const std::int64_t row = 3 * 3 * 64;
  EXPECT_EQ(maps[1].strides, (std::vector<std::int64_t>{row, 64, 4096 * row}));
  EXPECT_EQ(maps[4].strides, (std::vector<std::int64_t>{3 * 64, 64, 4096 * 3 * 64}));
}

TEST(BackwardFlashSm90, ParametersStandBehindSixTensorMaps) {
  std::map<std::string, std::byte> buffers;
  const Address address = [&](std::string_view name) -> void* {
    return &buffers[std::string(name)];
  };
  const ParamBytes bytes =
      flash_backward().bind(gradients_of({1, 256, 2, 64, 64}), steps_of(128, 2), address);
  EXPECT_EQ(bytes.size() % 64, 0u);
  ASSERT_GE(bytes.size(), 768 + sizeof(AttentionParams));
  AttentionParams params;
  std::memcpy(&params, bytes.data() + 768, sizeof params);
  EXPECT_EQ(params.dq, address("dq"));
  EXPECT_EQ(params.seq, 256);
  EXPECT_EQ(params.work[0], address("query_records"));
  EXPECT_EQ(params.work[1], address("dq_sums"));
}

TEST(BackwardFlashSm90, SumsOfDqAreMovedTwiceEachWay) {
  const double tensor = 1024.0 * 2 * 64 * 2, lse = 1024.0 * 2 * 4, sums = 1024.0 * 2 * 64 * 4;
  const Traffic bytes =
      flash_backward().traffic(gradients_of({1, 1024, 2, 64, 64}), steps_of(128, 2));
  // Records take o, do and lse, and have a pair for each query; the walk takes q, k, v, do and
  // records. Sums of dk and dv of each part are written and read.
  const double parts = 6 * 2 * sums;
  EXPECT_EQ(bytes.read_bytes, 2 * tensor + lse + 4 * tensor + 2 * lse + 2 * sums + parts);
  EXPECT_EQ(bytes.write_bytes, 2 * lse + 3 * tensor + 2 * sums + parts);
}

TEST(BackwardFlashSm90, OperationsAreThoseOfWholeSteps) {
  Problem problem = gradients_of({1, 1024, 1, 128, 128});
  const auto flops = [&] { return flash_backward().flops(problem, steps_of(64, 2)); };
  const double of_step = 2.0 * 64 * 128 * (3 * 128 + 2 * 128);
  // Eight blocks of keys meet 16, 14, ... 2 of 16 steps.
  EXPECT_EQ(flops(), 72 * of_step);
  problem.options["causal"] = "false";
  EXPECT_EQ(flops(), 128 * of_step);
  // Queries at the end of 512 keys see the first 384 whole. A block with all keys walks over all
  // queries, also those that see none.
  problem = gradients_of({1, 128, 1, 128, 128, 512});
  EXPECT_EQ(flops(), 8 * of_step);
  problem = gradients_of({1, 512, 1, 128, 128, 128});
  EXPECT_EQ(flops(), 8 * of_step);
  // Both consumers form the scores of wide heads: 64 keys, one step.
  problem = gradients_of({1, 64, 1, 256, 192});
  EXPECT_EQ(flops(), 2.0 * 64 * 64 * (4 * 256 + 3 * 192));
}

TEST(BackwardFlashSm90, SaysThatItsLastBitsVary) {
  EXPECT_FALSE(flash_backward().reproducible);
  EXPECT_EQ(flash_backward().arithmetic(gradients_of({}, DType::float16), steps_of(64, 2)),
            Arithmetic::float16);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
