// What features say of tiles that cut a sequence into segments, forwards, backwards and in
// training.

#include "harness/cost_model/features.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/cost_model/times.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr double multiprocessors = 132;

/// gla of 128 keys and values, in bfloat16.
Problem problem_of(Direction direction, std::int64_t batch, std::int64_t seq, std::int64_t heads) {
  Problem problem = made_up_problem(batch, seq, heads);
  problem.direction = direction;
  return problem;
}

Candidate in_segments(const Problem& problem, int segments) {
  const Variant* variant = find_variant("gla", "chunk_sm90", BackendId::cuda, problem.direction);
  Tile tile;
  for (const TileAxis& axis : variant->space) tile[axis.name] = axis.values.front();
  tile["segments"] = segments;
  return {variant, problem, tile};
}

Features features_in_segments(const Problem& problem, int segments) {
  return features_of(in_segments(problem, segments), device_rates(made_up_environment()));
}

double value_of(const Features& features, const std::string& name) {
  for (const Feature& feature : features.list)
    if (feature.name == name) return feature.value;
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

class SegmentFeatures : public testing::TestWithParam<Direction> {};

// 16 sequences are 16 blocks of 512 chunks each, or 128 of 64.
TEST_P(SegmentFeatures, SayBlocksAndStepsOfABlock) {
  const Problem few = problem_of(GetParam(), 1, 32768, 16);
  const Features one = features_in_segments(few, 1), eight = features_in_segments(few, 8);
  EXPECT_DOUBLE_EQ(value_of(one, "log2 blocks per multiprocessor"),
                   std::log2(16 / multiprocessors));
  EXPECT_DOUBLE_EQ(value_of(eight, "log2 blocks per multiprocessor"),
                   std::log2(128 / multiprocessors));
  EXPECT_DOUBLE_EQ(value_of(one, "log2 seq over tile segments"), 15);
  EXPECT_DOUBLE_EQ(value_of(eight, "log2 seq over tile segments"), 12);
  EXPECT_DOUBLE_EQ(value_of(one, "log2 resident"), 0);
  EXPECT_DOUBLE_EQ(value_of(one, "log2 loss"), std::log2(multiprocessors / 16));
  // More bytes and operations, of an eighth of a sequence.
  for (const char* name : {"log2 seconds per block", "log2 operation seconds per block"}) {
    EXPECT_GT(value_of(eight, name), value_of(one, name) - 3) << name;
    EXPECT_LT(value_of(eight, name), value_of(one, name) - 2) << name;
  }
  EXPECT_GT(value_of(eight, "log2 bytes over floor"), value_of(one, "log2 bytes over floor"));
  const int more = GetParam() == Direction::training ? 2 : 1;  // one each way
  EXPECT_EQ(value_of(eight, "launches"), value_of(one, "launches") + more);
}

// On an H200 a step of training takes 5.4 ms with 16 blocks and 1.14 with 128. With 128 sequences
// it takes 0.93 ms in one segment and 1.32 in eight.
TEST_P(SegmentFeatures, BoundIsOfTheMultiprocessorsThatHaveABlock) {
  const Problem few = problem_of(GetParam(), 1, 32768, 16);
  EXPECT_GT(features_in_segments(few, 1).bound, 1.5 * features_in_segments(few, 8).bound);
  const Problem many = problem_of(GetParam(), 8, 4096, 16);
  EXPECT_LT(features_in_segments(many, 1).bound, features_in_segments(many, 8).bound);
}

INSTANTIATE_TEST_SUITE_P(Directions, SegmentFeatures,
                         testing::Values(Direction::forward, Direction::backward,
                                         Direction::training),
                         [](const auto& direction) { return std::string(name(direction.param)); });

// 4 of 132 multiprocessors work. Their memory is at 3.5 times their even share of its rate.
TEST(Features, BoundCountsIdleMultiprocessors) {
  const Candidate four = in_segments(problem_of(Direction::forward, 1, 4096, 4), 1);
  const Traffic traffic = four.variant->traffic(four.problem, four.tile);
  const double bytes = (traffic.read_bytes + traffic.write_bytes) / 4000e9;
  const double operations = four.variant->flops(four.problem, four.tile) / 800e12;
  const double idle = multiprocessors / 4;
  EXPECT_NEAR(features_of(four, device_rates(made_up_environment())).bound,
              std::max(bytes * idle / 3.5, operations * idle) + 2e-6, 1e-12);
}

// The backward has three launches of as many blocks. The one that forms gradients needs most shared
// memory, with segments and without.
TEST(Features, OfLaunchesAlikeTheOneWithMostMemoryCounts) {
  const Problem problem = problem_of(Direction::backward, 1, 32768, 16);
  const Candidate candidate = in_segments(problem, 8);
  const auto& recipe_of =
      std::get<std::function<Recipe(const Problem&, const Tile&)>>(candidate.variant->code);
  double most = 0, first = 0;
  for (const Step& step : recipe_of(problem, candidate.tile).steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
      if (first == 0) first = static_cast<double>(launch->shared_bytes);
      most = std::max(most, static_cast<double>(launch->shared_bytes));
    }
  EXPECT_LT(first, most);
  for (const int segments : {1, 8})
    EXPECT_DOUBLE_EQ(value_of(features_in_segments(problem, segments), "log2 shared"),
                     std::log2(most + 1));
}

TEST(Features, SayTheRegimeOfTheInputs) {
  Problem problem = problem_of(Direction::forward, 1, 4096, 16);
  for (const char* gate : {"strong", "mild"}) {
    problem.gate = gate;
    EXPECT_EQ(value_of(features_in_segments(problem, 1), std::string("regime ") + gate), 1);
  }
  problem.gate = "file";  // inputs from outside count as of the usual regime
  EXPECT_EQ(
      value_of(features_in_segments(problem, 1), "regime " + default_gate(*find_operator("gla"))),
      1);
}

Candidate attention(const char* op, const char* name, const char* gate, std::int64_t keys) {
  Problem problem;
  problem.op = op;
  problem.dtype = DType::bfloat16;
  problem.gate = gate;
  problem.shape.batch = 1;
  problem.shape.seq = 64;
  problem.shape.key_seq = keys;
  problem.shape.heads = 2;
  problem.shape.key_dim = problem.shape.value_dim = 64;
  const Variant* variant = find_variant(op, name, BackendId::cuda);
  Tile tile;
  for (const TileAxis& axis : variant->space) tile[axis.name] = axis.values.front();
  return {variant, problem, tile};
}

// Of 131,072 keys an H200 leaves nearly all out by their decays: 0.07 ms, where flash2, which meets
// them all, takes 3.4.
TEST(Features, KeysThatDecaysLeaveOutAreNotCounted) {
  const DeviceRates rates = device_rates(made_up_environment());
  const auto block = [&](const char* name, const char* gate) {
    const Features features = features_of(attention("decay_attention", name, gate, 131072), rates);
    return value_of(features, "log2 operation seconds per block");
  };
  EXPECT_DOUBLE_EQ(block("flash2", "mild"), block("flash2", "none"));
  EXPECT_LT(block("flash_sm90", "mild"), block("flash_sm90", "none") - 7);
  EXPECT_LT(block("flash_sm90", "strong"), block("flash_sm90", "mild") - 2);
}

// Sums of log decays are formed in more blocks than there are queries to fill. They are not what
// takes long.
TEST(Features, AreOfTheLaunchThatMultiplies) {
  const DeviceRates rates = device_rates(made_up_environment());
  for (const char* op : {"attention", "decay_attention"}) {
    const Features features = features_of(
        attention(op, "flash2", default_gate(*find_operator(op)).c_str(), 131072), rates);
    EXPECT_DOUBLE_EQ(value_of(features, "log2 blocks per multiprocessor"),
                     std::log2(2 / multiprocessors))
        << op;
  }
}

TEST(Features, OperationsOfFloat32TakeLonger) {
  const DeviceRates rates = device_rates(made_up_environment());
  Candidate candidate = attention("attention", "flash2", "normal", 4096);
  const auto operations = [&] {
    return value_of(features_of(candidate, rates), "log2 operation seconds per block");
  };
  const double of_bfloat16 = operations();
  candidate.problem.dtype = DType::float32;
  candidate.tile["terms"] = 1;
  EXPECT_DOUBLE_EQ(operations(), of_bfloat16 + 1);
  candidate.tile["terms"] = 3;
  EXPECT_DOUBLE_EQ(operations(), of_bfloat16 + std::log2(6));
}

// Without any record of the backward, the bound alone chooses.
TEST(Predictor, WithoutAModelCutsSequencesWhereHeadsAreFew) {
  const Predictor predictor(nullptr, made_up_environment());
  const auto segments_of = [&](std::int64_t batch, std::int64_t seq) {
    const auto ranked =
        predictor.rank(program_catalog(), problem_of(Direction::backward, batch, seq, 16), admits);
    EXPECT_EQ(ranked.front().candidate.variant->name, "chunk_sm90");
    return ranked.front().candidate.tile.at("segments");
  };
  EXPECT_GT(segments_of(1, 32768), 1);
  EXPECT_EQ(segments_of(8, 4096), 1);
}

}  // namespace
}  // namespace gla_bench::cost_model
