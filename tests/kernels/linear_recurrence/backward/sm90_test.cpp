#include <gtest/gtest.h>

#include "kernels/linear_recurrence/backward/sm90/layout.h"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"
#include "tests/kernels/linear_recurrence/backward/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using Entries = std::vector<std::string>;

Problem gla_backward(const Shape& shape) {
  return backward(gla(DType::bfloat16, shape));
}

Tile tile(int segments, int stages = 2) {
  return {{"stages", stages}, {"segments", segments}};
}

std::vector<KernelLaunch> launches(const Variant& variant, const Problem& problem, const Tile& t) {
  std::vector<KernelLaunch> list;
  for (const Step& step : std::get<0>(variant.code)(problem, t).steps)
    list.push_back(std::get<KernelLaunch>(step));
  return list;
}

Entries entries(const Variant& variant, const Problem& problem, const Tile& t) {
  Entries list;
  for (const KernelLaunch& launch : launches(variant, problem, t)) list.push_back(launch.entry);
  return list;
}

const Variant& formed() {
  static const Variant v = backward_chunk_sm90(member_of(gla_backward({1, 64, 1, 64, 64})));
  return v;
}
const Variant& given() {
  static const Variant v =
      backward_chunk_sm90_of_states(member_of(gla_backward({1, 64, 1, 64, 64})));
  return v;
}

TEST(BackwardSm90, LaunchesAWalkForSegmentsWhereThereAreSome) {
  const Problem problem = gla_backward({2, 512, 3, 128, 64});
  EXPECT_EQ(entries(formed(), problem, tile(1)),
            (Entries{"chunk_sm90_keep_states", "chunk_sm90_gradients"}));
  EXPECT_EQ(entries(formed(), problem, tile(4)),
            (Entries{"chunk_sm90_segments", "chunk_sm90_keep_states", "chunk_sm90_gradients"}));
  EXPECT_EQ(entries(given(), problem, tile(1)), (Entries{"chunk_sm90_gradients"}));
  EXPECT_EQ(entries(given(), problem, tile(4)),
            (Entries{"chunk_sm90_segments", "chunk_sm90_gradients"}));
  for (const Variant* variant : {&formed(), &given()})
    for (const KernelLaunch& launch : launches(*variant, problem, tile(4)))
      EXPECT_EQ(launch.grid.x, 2u * 3 * 4) << launch.entry;
}

TEST(BackwardSm90, SegmentsHaveTwoChunksAtLeast) {
  EXPECT_EQ(formed().reject(gla_backward({2, 512, 3, 128, 64}), tile(4), h200()), std::nullopt);
  EXPECT_EQ(formed().reject(gla_backward({2, 511, 3, 128, 64}), tile(4), h200()),
            "segments of less than two chunks");
  EXPECT_EQ(formed().reject(gla_backward({2, 10, 3, 128, 64}), tile(1), h200()), std::nullopt);
}

TEST(BackwardSm90, SumsOfSegmentsLieInTheWorkspace) {
  const Problem problem = gla_backward({2, 512, 3, 100, 72});  // padded to 128 x 128
  const double pairs = 6, sum = 4.0 * 128 * 128;
  const auto bytes = [&](const Variant& variant, int segments, std::string_view region) {
    return region_bytes(variant.workspace(problem, tile(segments)), region);
  };
  EXPECT_EQ(bytes(formed(), 1, "segment_sums"), 0);
  EXPECT_EQ(bytes(formed(), 4, "segment_sums"), pairs * 4 * 2 * sum);
  EXPECT_EQ(bytes(given(), 4, "segment_sums"), pairs * 4 * sum);
  EXPECT_EQ(bytes(formed(), 4, "segment_factors"), pairs * 4 * 128 * 4);
  for (const Variant* variant : {&formed(), &given()})
    EXPECT_EQ(bytes(*variant, 4, "chunk_states"), pairs * 8 * sum / 2);  // in bfloat16
}

TEST(BackwardSm90, EverySegmentHasItsOwnSumsOfTheBonus) {
  const Problem problem = backward(problem_of("rwkv6", DType::bfloat16, {2, 512, 3, 64, 64}));
  const Variant variant = backward_chunk_sm90(member_of(problem));
  const auto bytes = [&](int segments) {
    return region_bytes(variant.workspace(problem, tile(segments)), "sums");
  };
  EXPECT_EQ(bytes(1), 2 * 3 * (64 + 1) * 8);
  EXPECT_EQ(bytes(4), 4 * bytes(1));
  EXPECT_EQ(entries(variant, problem, tile(4)).back(), "chunk_sm90_sums");
}

TEST(BackwardSm90, ModelsWhatItsWalksMove) {
  const Problem problem = gla_backward({2, 512, 3, 128, 128});
  const double tokens = 2 * 512 * 3, rows = tokens * 128 * 2, states = 6 * 8 * 128 * 128 * 2.0;
  const double last = 6 * 128 * 128 * 4.0;  // the gradient of the final state
  const auto moved = [&](const Variant& variant, int segments) {
    return variant.traffic(problem, tile(segments));
  };
  // q, k, gates, v and do once; k, gates and v again where states are formed.
  EXPECT_EQ(moved(given(), 1).read_bytes, 5 * rows + states + last);
  EXPECT_EQ(moved(formed(), 1).read_bytes, 8 * rows + states + last);
  EXPECT_EQ(moved(formed(), 1).write_bytes - moved(given(), 1).write_bytes, states);
  // A walk for segments reads q, gates and do; k and v besides where it forms states.
  const double sums = 6 * 4 * 4 * (128 * 128 + 128), both = 6 * 4 * 4 * (2 * 128 * 128 + 128);
  EXPECT_EQ(moved(given(), 4).read_bytes - moved(given(), 1).read_bytes, 3 * rows + sums);
  EXPECT_EQ(moved(formed(), 4).read_bytes - moved(formed(), 1).read_bytes, 5 * rows + both);
  EXPECT_EQ(moved(formed(), 4).write_bytes - moved(formed(), 1).write_bytes, both);
  const double product = 2 * tokens * 128 * 128;
  EXPECT_EQ(formed().flops(problem, tile(1)) - given().flops(problem, tile(1)), product);
  EXPECT_EQ(formed().flops(problem, tile(4)) - formed().flops(problem, tile(1)), 2 * product);
  EXPECT_EQ(given().flops(problem, tile(4)) - given().flops(problem, tile(1)), product);
}

TEST(BackwardSm90, WalksNeedSharedMemoryForWhatTheyRead) {
  const auto bytes = [](GradientPass pass) {
    const GradientSm90Layout layout{128, 128, 2, 3, false, pass};
    EXPECT_EQ(layout.arriving_keys + layout.arriving_values,
              (2 + 4 * (layout.inputs + layout.outputs)) * 8192);
    return layout.bytes;
  };
  EXPECT_LT(bytes(GradientPass::states), bytes(GradientPass::segments));
  EXPECT_EQ(bytes(GradientPass::changes), bytes(GradientPass::segments));
  EXPECT_LT(bytes(GradientPass::segments), bytes(GradientPass::gradients));
}

TEST(BackwardSm90, MoreThan128KeysOrColumnsAreCutIntoSlices) {
  const auto grids = [](std::int64_t keys, std::int64_t values, int segments) {
    std::vector<std::pair<std::string, unsigned>> list;
    for (const KernelLaunch& launch :
         launches(formed(), gla_backward({2, 512, 3, keys, values}), tile(segments)))
      list.emplace_back(launch.entry, launch.grid.x);
    return list;
  };
  using Grids = std::vector<std::pair<std::string, unsigned>>;
  const auto expected = [](unsigned forwards, unsigned back) {
    return Grids{{"chunk_sm90_segments", forwards},
                 {"chunk_sm90_keep_states", forwards},
                 {"chunk_sm90_gradients", back},
                 {"chunk_sm90_more_gradients", back}};
  };
  // 6 sequences and heads in 4 segments.
  EXPECT_EQ(grids(256, 256, 4), expected(4 * 24, 2 * 24));
  EXPECT_EQ(grids(136, 192, 4), expected(4 * 24, 2 * 24));
  EXPECT_EQ(grids(256, 128, 4), expected(2 * 24, 24));
  EXPECT_EQ(grids(64, 136, 4), expected(2 * 24, 24));
  EXPECT_EQ(grids(128, 128, 1),
            (Grids{{"chunk_sm90_keep_states", 6}, {"chunk_sm90_gradients", 6}}));
  // A slice takes what 128 keys and columns take.
  const GradientSm90Layout whole{128, 128, 2, 3, false, GradientPass::gradients};
  for (const auto& [keys, values] : {std::pair{256, 256}, {136, 192}, {256, 128}, {128, 160}}) {
    const GradientSm90Layout slice{keys, values, 2, 3, false, GradientPass::gradients};
    EXPECT_EQ(slice.bytes, whole.bytes);
    EXPECT_EQ(slice.threads, whole.threads);
  }
}

TEST(BackwardSm90, EveryPairOfSlicesHasItsOwnSums) {
  const auto bytes = [](const Problem& problem, int segments, std::string_view region) {
    const Variant variant = backward_chunk_sm90(member_of(problem));
    return region_bytes(variant.workspace(problem, tile(segments)), region);
  };
  const Shape shape{2, 512, 3, 192, 256};
  const double state = 2.0 * 192 * 256, slice = 4.0 * 128 * 128;
  EXPECT_EQ(bytes(gla_backward(shape), 4, "chunk_states"), 6 * 8 * state);
  EXPECT_EQ(bytes(gla_backward(shape), 4, "segment_sums"), 6 * 4 * 4 * 2 * slice);
  EXPECT_EQ(bytes(gla_backward(shape), 4, "segment_factors"), 6 * 4 * 4 * 128 * 4);
  // du has terms of both slices of V; a decay per token those of all slices.
  const auto of = [&](const char* op) { return backward(problem_of(op, DType::bfloat16, shape)); };
  EXPECT_EQ(bytes(of("rwkv6"), 4, "sums"), 6 * 4 * 2 * (192 + 4) * 8);
  EXPECT_EQ(bytes(of("simple_gla"), 1, "gate_parts"), 4 * 2 * 512 * 3 * 4);
  EXPECT_EQ(bytes(backward(problem_of("simple_gla", DType::bfloat16, {2, 512, 3, 128, 128})), 1,
                  "gate_parts"),
            0);
  const Problem problem = of("simple_gla");
  EXPECT_EQ(entries(backward_chunk_sm90(member_of(problem)), problem, tile(1)).back(),
            "chunk_sm90_gates");
}

TEST(BackwardSm90, ModelsWhatASecondLaunchReadsAndAddsTo) {
  const auto moved = [](std::int64_t keys, std::int64_t values) {
    return given().traffic(gla_backward({2, 512, 3, keys, values}), tile(1));
  };
  const double tokens = 2 * 512 * 3, states = 6 * 8 * 2.0, last = 6 * 4.0;
  // q, k and gates again for each slice of V, and dq, dk and dg in float32 added to.
  EXPECT_EQ(moved(128, 256).read_bytes, tokens * 2 * (2 * 3 * 128 + 2 * 256) +
                                            tokens * (4 + 4) * 128 + (states + last) * 128 * 256);
  EXPECT_EQ(moved(128, 256).write_bytes, tokens * (2 * (4 + 4) * 128 + 2 * 256));
  // v and do again for each slice of the keys, and dv added to.
  EXPECT_EQ(moved(256, 128).read_bytes,
            tokens * 2 * (3 * 256 + 2 * 2 * 128 + 128) + (states + last) * 128 * 256);
  EXPECT_EQ(moved(256, 128).write_bytes, tokens * ((4 + 4) * 256 + 2 * 2 * 128));
  const auto flops = [](std::int64_t keys, std::int64_t values) {
    return given().flops(gla_backward({2, 512, 3, keys, values}), tile(1));
  };
  EXPECT_EQ(flops(256, 128), tokens * (8.0 * 256 * 128 + 65 * (3 * 256 + 2 * 2 * 128)));
  EXPECT_EQ(flops(128, 256), tokens * (8.0 * 256 * 128 + 65 * (2 * 3 * 128 + 2 * 256)));
}

TEST(BackwardSm90, SlicesTakeWholeChunks) {
  const auto reason = [](const Shape& shape) {
    return formed().reject(gla_backward(shape), tile(1), h200());
  };
  EXPECT_EQ(reason({2, 64, 3, 256, 256}), std::nullopt);
  EXPECT_EQ(reason({2, 63, 3, 136, 64}),
            "more than 128 keys or columns take sequences of at least 64 tokens");
  EXPECT_EQ(reason({2, 1, 3, 128, 128}), std::nullopt);
  EXPECT_EQ(reason({2, 512, 3, 264, 64}),
            "key_dim and value_dim go up to 256: each gradient is the sum of two blocks' terms at "
            "most");
}

TEST(BackwardSm90, DecaysThatKeysShareTakeMoreThanAFewTokensAndHeads) {
  const auto reason = [](const char* op, std::int64_t seq, std::int64_t heads) {
    const Problem problem = backward(problem_of(op, DType::bfloat16, {2, seq, heads, 64, 64}));
    return backward_chunk_sm90(member_of(problem)).reject(problem, tile(1), h200());
  };
  EXPECT_EQ(reason("simple_gla", 16, 1), std::nullopt);
  EXPECT_EQ(reason("retention", 16, 4), std::nullopt);
  EXPECT_EQ(reason("linear_attention", 1, 1), std::nullopt);
  for (const char* op : {"simple_gla", "retention"})
    EXPECT_EQ(reason(op, 15, 4), "decays that all keys share take sequences of at least 16 tokens");
  EXPECT_EQ(reason("retention", 16, 3), "constant decays take at least 4 heads");
}

TEST(BackwardSm90, AConstantDecayHasOneSumForEachSegmentAndSlice) {
  const auto bytes = [](const Shape& shape, int segments) {
    const Problem problem = backward(problem_of("retention", DType::bfloat16, shape));
    const Variant variant = backward_chunk_sm90(member_of(problem));
    EXPECT_EQ(entries(variant, problem, tile(segments)).back(), "chunk_sm90_sums");
    EXPECT_EQ(launches(variant, problem, tile(segments)).back().grid.x, 1u);
    return region_bytes(variant.workspace(problem, tile(segments)), "sums");
  };
  EXPECT_EQ(bytes({2, 512, 4, 64, 64}, 1), 2 * 4 * (64 + 1) * 8);
  EXPECT_EQ(bytes({2, 512, 4, 64, 64}, 4), 4 * 2 * 4 * (64 + 1) * 8);
  EXPECT_EQ(bytes({2, 512, 4, 256, 192}, 4), 4 * 2 * 4 * (256 + 4) * 8);
}

TEST(BackwardSm90, RefusesByNameAndNeverThrows) {
  expect_backward_reject(formed());
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
