#include <gtest/gtest.h>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/decode/layout.h"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

Problem decoding(std::string_view op, const Shape& shape, DType dtype = DType::bfloat16) {
  Problem problem = problem_of(op, dtype, shape);
  problem.initial_state = true;
  return problem;
}

// Each member: plain and with each option, with one token and eight, wide, narrow and ragged.
std::vector<Problem> decoding_problems(const Member& member) {
  std::vector<Problem> problems;
  for (const Problem& with_option : problems_with_options(member.op))
    for (const Shape& shape : {Shape{3, 1, 2, 128, 128}, Shape{2, 8, 1, 100, 72},
                               Shape{1, 3, 2, 37, 19}, Shape{1, 1, 1, 512, 512}}) {
      problems.push_back(with_option);
      const bool several = with_option.shape.sequences > 0;
      problems.back().shape = shape;
      problems.back().shape.sequences = several ? 4 : 0;
    }
  return problems;
}

template <class Visit>
void for_each_accepted(Visit visit) {
  int accepted = 0;
  for (const Member& member : members()) {
    const Variant variant = decode(member);
    for (const Problem& problem : decoding_problems(member))
      for (const Tile& tile : all_tiles(variant.space)) {
        if (variant.reject(problem, tile, h200())) continue;
        ++accepted;
        visit(variant, problem, tile);
      }
  }
  EXPECT_GT(accepted, 1000);
}

DecodeLayout layout_of(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          option(problem, "state_dtype") == "bfloat16" ? 2 : 4,
          option(problem, "state_layout") == "value_first",
          tile.at("block_v"),
          tile.at("elements")};
}

TEST(Decode, ThreadsCoverTheBlocksPartOfTheState) {
  for_each_accepted([](const Variant&, const Problem& problem, const Tile& tile) {
    const DecodeLayout at = layout_of(problem, tile);
    const std::int64_t contiguous =
        at.value_first ? problem.shape.key_dim : std::int64_t{tile.at("block_v")};
    EXPECT_GE(at.lanes * at.vec * at.columns, contiguous);
    EXPECT_GE(at.rows * at.groups, at.block_rows);
    EXPECT_EQ(at.lanes * at.groups, at.threads);
    EXPECT_EQ(at.threads % 32, 0);
    EXPECT_LE(at.rows * at.columns * at.vec, tile.at("elements"));
    EXPECT_EQ(at.lanes & (at.lanes - 1), 0) << "exchanges are between powers of two";
    EXPECT_EQ(at.rows & (at.rows - 1), 0);
    EXPECT_EQ(at.row_bytes % (at.vec * at.state_bytes), 0) << "every vector is aligned";
    EXPECT_GE(at.padded_keys, problem.shape.key_dim);
    EXPECT_GE(at.padded_values, tile.at("block_v"));
  });
}

TEST(Decode, CommonStatesMoveSixteenBytesAThread) {
  for (const char* dtype : {"float32", "bfloat16"})
    for (const char* order : {"key_first", "value_first"}) {
      Problem problem = decoding("gla", {1, 1, 1, 128, 128});
      if (std::string(dtype) != "float32") problem.options["state_dtype"] = dtype;
      if (std::string(order) != "key_first") problem.options["state_layout"] = order;
      const DecodeLayout at = layout_of(problem, {{"block_v", 32}, {"elements", 32}});
      EXPECT_EQ(at.vec * at.state_bytes, 16);
      EXPECT_EQ(at.threads, 128);
      EXPECT_EQ(at.rows * at.columns * at.vec, 32);
    }
}

TEST(Decode, LaunchesOnceWithinTheLimits) {
  for_each_accepted([](const Variant& variant, const Problem& problem, const Tile& tile) {
    const Recipe recipe = std::get<0>(variant.code)(problem, tile);
    ASSERT_EQ(recipe.steps.size(), 1u);
    EXPECT_TRUE(variant.workspace(problem, tile).empty());
    const auto& launch = std::get<KernelLaunch>(recipe.steps[0]);
    EXPECT_LE(launch.shared_bytes, h200().shared_per_block);
    EXPECT_LE(launch.block.x, 1024u);
    const Shape& shape = problem.shape;
    EXPECT_EQ(launch.grid.x % shape.heads, 0);
    EXPECT_EQ(launch.grid.y, shape.sequences > 0 ? shape.sequences : shape.batch);
  });
}

TEST(Decode, MovesAtLeastTheFloor) {
  for_each_accepted([](const Variant& variant, const Problem& problem, const Tile& tile) {
    const Work work = find_operator(problem.op)->work(problem);
    const Traffic traffic = variant.traffic(problem, tile);
    EXPECT_GE(traffic.read_bytes + traffic.write_bytes, work.floor_bytes) << describe(problem);
    EXPECT_GE(variant.flops(problem, tile), work.flops) << describe(problem);
  });
}

TEST(Decode, WithOneSliceItMovesExactlyTheFloor) {
  for (const Member& member : members())
    for (const char* state : {"float32", "bfloat16"}) {
      Problem problem = decoding(member.op, {4, 1, 3, 64, 32});
      if (std::string(state) != "float32") problem.options["state_dtype"] = state;
      const Variant variant = decode(member);
      const Traffic traffic = variant.traffic(problem, default_tile(variant.space));
      EXPECT_EQ(traffic.read_bytes + traffic.write_bytes,
                find_operator(member.op)->work(problem).floor_bytes)
          << describe(problem);
    }
}

// Tokens are a constant of the kernel: a staged element's place needs no division.
TEST(Decode, TheKernelKnowsItsTokens) {
  const Variant variant = decode(gla_member());
  const auto tokens = [&](Shape shape, std::int64_t several) {
    shape.sequences = several;
    const Recipe recipe =
        std::get<0>(variant.code)(decoding("gla", shape), default_tile(variant.space));
    for (const Constant& constant : recipe.constants)
      if (constant.scope == "decode_form" && constant.name == "tokens") return constant.value;
    return 0;
  };
  EXPECT_EQ(tokens({2, 1, 3, 64, 64}, 0), 1);
  EXPECT_EQ(tokens({2, 5, 3, 64, 64}, 0), 5);
  EXPECT_EQ(tokens({1, 2, 3, 64, 64}, 2), decode_tokens);
}

// Every slice reads all of z: where it is overwritten one block has to take them all.
TEST(Decode, ANormalizerInPlaceIsNotWrittenByAnotherBlock) {
  const Variant variant = decode(member_of(decoding("linear_attention", {})));
  Problem problem = decoding("linear_attention", {2, 1, 3, 64, 128});
  const auto blocks = [&](std::map<std::string, std::string> options) {
    problem.options = std::move(options);
    const Recipe recipe = std::get<0>(variant.code)(problem, default_tile(variant.space));
    const auto& launch = std::get<KernelLaunch>(recipe.steps.at(0));
    return launch.grid.x * launch.grid.y;
  };
  EXPECT_EQ(blocks({}), 6u * 4);
  EXPECT_EQ(blocks({{"in_place", "true"}}), 6u * 4);
  EXPECT_EQ(blocks({{"normalize", "true"}}), 6u * 4);
  EXPECT_EQ(blocks({{"normalize", "true"}, {"in_place", "true"}}), 6u);
}

TEST(Decode, IsForAFewTokens) {
  for (const Variant& variant : {decode(gla_member())}) {
    const Limits limits = variant.backend == BackendId::cuda ? h200() : Limits{};
    const auto reason = [&](const Shape& shape) {
      return variant.reject(decoding("gla", shape), default_tile(variant.space), limits)
          .value_or("");
    };
    EXPECT_EQ(reason({2, 8, 3, 64, 64}), "");
    EXPECT_EQ(reason({2, 9, 3, 64, 64}), "decodes at most 8 tokens a sequence, these have 9");
    EXPECT_EQ(reason({65535, 1, 3, 64, 64}), "");
    EXPECT_EQ(reason({65536, 1, 3, 64, 64}), "65536 sequences, a grid holds 65535");
    Shape several{1, 40, 3, 64, 64};
    several.sequences = 5;
    EXPECT_EQ(reason(several), "");
    several.seq = 41;
    EXPECT_EQ(reason(several), "decodes at most 8 tokens a sequence, these have more on average");
  }
}

TEST(Decode, EverySizeHasATile) {
  for (const Member& member : members()) {
    const Variant variant = decode(member);
    const std::vector<Tile> tiles = all_tiles(variant.space);
    for (const char* state : {"float32", "bfloat16"})
      for (const char* order : {"key_first", "value_first"})
        for (const std::int64_t k : {1, 5, 33, 100, 256, 511, 512})
          for (const std::int64_t v : {1, 3, 8, 17, 100, 511, 512}) {
            Problem problem = decoding(member.op, {1, 8, 1, k, v});
            if (std::string(state) != "float32") problem.options["state_dtype"] = state;
            if (std::string(order) != "key_first") problem.options["state_layout"] = order;
            EXPECT_EQ(variant.reject(problem, default_tile(variant.space), h200()), std::nullopt)
                << describe(problem);
          }
  }
}

TEST(Decode, RejectsByNameAndNeverThrows) {
  expect_total_reject(decode(gla_member()));
}

TEST(Decode, FillsTheDeviceAlsoWithFewHeads) {
  const Variant variant = decode(gla_member());
  const Problem problem = decoding("gla", {1, 1, 16, 128, 128});
  unsigned most = 0;
  for (const Tile& tile : all_tiles(variant.space)) {
    if (variant.reject(problem, tile, h200())) continue;
    const Recipe recipe = std::get<0>(variant.code)(problem, tile);
    const auto& launch = std::get<KernelLaunch>(recipe.steps.at(0));
    most = std::max(most, launch.grid.x * launch.grid.y);
  }
  EXPECT_GE(most, 132u);
}

TEST(Decode, DeclaresFloat32) {
  const Variant variant = decode(gla_member());
  EXPECT_EQ(variant.arithmetic(gla(DType::bfloat16, {}), default_tile(variant.space)),
            Arithmetic::float32);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
