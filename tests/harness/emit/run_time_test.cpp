#include "harness/emit/run_time.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/engine/exec.hpp"

namespace gla_bench {
namespace {

Candidate emitted_candidate(const std::string& op, const std::string& variant, const Shape& shape,
                            const Tile& tile = {}, Direction direction = Direction::forward) {
  Problem problem;
  problem.op = op;
  problem.direction = direction;
  problem.dtype = DType::bfloat16;
  problem.shape = shape;
  problem.gate = default_gate(*find_operator(op));
  const Variant* found = find_variant(op, variant, BackendId::cuda, direction);
  return {found, problem, choose_tile(*found, problem, tile, limits_of(90))};
}

RunTimeCall run_time_call_of(const Candidate& candidate) {
  return run_time_call(*find_operator(candidate.problem.op), candidate, limits_of(90));
}

Shape shape_of_tokens(std::int64_t batch, std::int64_t seq, std::int64_t heads) {
  Shape shape;
  shape.batch = batch;
  shape.seq = seq;
  shape.heads = heads;
  return shape;
}

std::string range_of(const RunTimeExtent& extent) {
  return extent.name + " " + std::to_string(extent.least) + ".." + std::to_string(extent.most);
}

TEST(RunTimeCall, HasTheNumbersOfTheRecipeAtOtherSizes) {
  for (const char* variant : {"chunk_fused", "chunk_materialized", "chunk_pipeline", "parallel",
                              "recurrent", "chunk_sm90"}) {
    const Candidate candidate = emitted_candidate("gla", variant, shape_of_tokens(2, 1024, 4));
    const RunTimeCall call = run_time_call_of(candidate);
    for (const Extents& values : {Extents{1, 77, 1}, {3, 4099, 5}, {17, 513, 9}}) {
      ASSERT_TRUE(takes(call, values)) << variant;
      Candidate other = candidate;
      other.problem = with_extents(other.problem, call.extents, values);
      const Call<std::int64_t> wanted = call_of(*find_operator("gla"), other);
      std::vector<std::int64_t> numbers;
      for_each_number(wanted, [&](std::int64_t number) { numbers.push_back(number); });
      std::size_t i = 0;
      for_each_number(call.call, [&](const ExtentFormula& formula) {
        EXPECT_EQ(value_of(formula, values), numbers.at(i++)) << variant;
      });
      EXPECT_EQ(i, numbers.size());
    }
  }
}

TEST(RunTimeCall, KeepsAnExtentThatIsCompiled) {
  const RunTimeCall decode =
      run_time_call_of(emitted_candidate("gla", "decode", shape_of_tokens(64, 1, 16)));
  EXPECT_EQ(range_of(decode.extents[1]), "seq 1..1");
  EXPECT_GT(decode.extents[0].most, 1000);
  Shape rows;
  rows.batch = 64;
  rows.columns = 4096;
  const RunTimeCall softmax =
      run_time_call_of(emitted_candidate("softmax", "online_blocked", rows));
  EXPECT_EQ(range_of(softmax.extents.back()), "columns 4096..4096");
}

TEST(RunTimeCall, BeginsWhereTheVariantAcceptsAndEndsWhereItRefuses) {
  const Candidate candidate =
      emitted_candidate("gla", "chunk_sm90", shape_of_tokens(2, 1024, 4), {{"segments", 4}});
  const RunTimeCall call = run_time_call_of(candidate);
  EXPECT_EQ(call.extents[1].least, 512);  // segments of less than two chunks are refused
  EXPECT_FALSE(takes(call, Extents{2, 511, 4}));
  EXPECT_FALSE(takes(call, Extents{1 << 12, 1 << 20, 1}));  // too many tokens
}

TEST(RunTimeCall, TakesGroupsOfHeadsTogether) {
  Shape shape = shape_of_tokens(1, 1, 32);
  shape.key_heads = 8;
  shape.key_seq = 4096;
  const RunTimeCall call =
      run_time_call_of(emitted_candidate("attention", "flash_decoding", shape));
  ASSERT_EQ(call.extents.back().name, "key_heads");
  EXPECT_EQ(call.extents.back().group, 4);
  const Problem other =
      with_extents(emitted_candidate("attention", "flash_decoding", shape).problem, call.extents,
                   Extents{1, 1, 4096, 3});
  EXPECT_EQ(other.shape.heads, 12);
}

std::string error_of_call(const Candidate& candidate) {
  try {
    run_time_call_of(candidate);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(RunTimeCall, RefusesWhatOneFileCannotLaunch) {
  EXPECT_NE(error_of_call(emitted_candidate("gla", "parallel_cublas", shape_of_tokens(1, 256, 2)))
                .find("cannot be emitted: it multiplies matrices through cuBLAS"),
            std::string::npos);
  Candidate host{find_variant("gla", "recurrent", BackendId::host),
                 emitted_candidate("gla", "recurrent", shape_of_tokens(1, 256, 2)).problem,
                 {}};
  for (const TileAxis& axis : host.variant->space) host.tile[axis.name] = axis.values.front();
  EXPECT_NE(error_of_call(host).find("refused: runs on the host only"), std::string::npos)
      << error_of_call(host);
}

/// A variant whose recipe is the test's own.
Candidate planted_call(std::function<Recipe(const Problem&, const Tile&)> recipe) {
  static Variant variant;
  Candidate candidate = emitted_candidate("gla", "recurrent", shape_of_tokens(2, 256, 4));
  variant = *candidate.variant;
  variant.reject = [](const Problem&, const Tile&, const Limits&) -> std::optional<std::string> {
    return std::nullopt;
  };
  variant.code = std::move(recipe);
  candidate.variant = &variant;
  return candidate;
}

TEST(RunTimeCall, ShrinksToWhatHasAFormula) {
  // A grid that is no formula of seq, and constants that depend on heads.
  const RunTimeCall call = run_time_call_of(planted_call([](const Problem& problem, const Tile&) {
    const Shape& s = problem.shape;
    const auto squares = static_cast<unsigned>(s.seq * s.seq % 1009 + s.batch);
    return Recipe{
        "a.cuh", {{"dim", "few", s.heads < 9}}, {KernelLaunch{"f", {squares, 1, 1}, {32, 1, 1}}}};
  }));
  EXPECT_EQ(range_of(call.extents[1]), "seq 256..256");
  const RunTimeCall constants =
      run_time_call_of(planted_call([](const Problem& problem, const Tile&) {
        const Shape& s = problem.shape;
        return Recipe{"a.cuh",
                      {{"dim", "few", s.heads < 9}},
                      {KernelLaunch{"f", {static_cast<unsigned>(s.heads), 1, 1}, {32, 1, 1}}}};
      }));
  EXPECT_EQ(range_of(constants.extents[2]), "heads 1..8");
}

TEST(RunTimeCall, GivesUpTheExtentThatLeavesTheOthersMost) {
  // No formula of both batch and heads: either could keep its range.
  const RunTimeCall call = run_time_call_of(planted_call([](const Problem& problem, const Tile&) {
    const Shape& s = problem.shape;
    const auto blocks = static_cast<unsigned>(s.batch * s.batch * s.heads % 1009 + 1);
    return Recipe{
        "a.cuh", {{"dim", "few", s.heads < 9}}, {KernelLaunch{"f", {blocks, 1, 1}, {32, 1, 1}}}};
  }));
  EXPECT_EQ(range_of(call.extents[0]), "batch 2..2");
  EXPECT_EQ(range_of(call.extents[2]), "heads 1..8");
}

// As many blocks as fit on the device, of however many sequences of however many keys.
TEST(RunTimeCall, KeepsBatchesAndKeysOfBlocksThatFillTheDevice) {
  Shape shape{8, 1, 32, 128, 128, 4096, 8};
  const RunTimeCall call =
      run_time_call_of(emitted_candidate("attention", "flash_decoding_sm90", shape));
  EXPECT_EQ(range_of(call.extents[0]), "batch 1..2048");
  EXPECT_EQ(range_of(call.extents[2]), "key_seq 449..1048576");
}

}  // namespace
}  // namespace gla_bench
