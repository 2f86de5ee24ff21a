#include "harness/tuned_table/bucket.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "tests/harness/tuned_table/records.hpp"

namespace gla_bench {
namespace {

TEST(Bucket, PowersOfTwoAreNearestInRatio) {
  for (std::int64_t power = 1; power < (std::int64_t{1} << 40); power *= 2)
    EXPECT_EQ(nearest_power_of_two(power), power);
  EXPECT_EQ(nearest_power_of_two(0), 0);
  EXPECT_EQ(nearest_power_of_two(3), 4);
  EXPECT_EQ(nearest_power_of_two(2896), 2048);
  EXPECT_EQ(nearest_power_of_two(2897), 4096);
  EXPECT_EQ(nearest_power_of_two(5792), 4096);
  EXPECT_EQ(nearest_power_of_two(5793), 8192);
  EXPECT_EQ(nearest_power_of_two(std::numeric_limits<std::int64_t>::max()), std::int64_t{1} << 62);
}

TEST(Bucket, QuartersOfOctavesAreNearestInRatio) {
  for (const std::int64_t value : {1, 2, 3, 5, 7, 8, 10, 12, 14, 16, 20, 56, 64, 80, 96, 112, 128})
    EXPECT_EQ(nearest_quarter(value), value);
  EXPECT_EQ(nearest_quarter(0), 0);
  EXPECT_EQ(nearest_quarter(-3), 0);
  EXPECT_EQ(nearest_quarter(9), 10);
  EXPECT_EQ(nearest_quarter(71), 64);
  EXPECT_EQ(nearest_quarter(72), 80);
  EXPECT_EQ(nearest_quarter(119), 112);
  EXPECT_EQ(nearest_quarter(120), 128);
  EXPECT_EQ(nearest_quarter(143), 128);
  EXPECT_EQ(nearest_quarter(144), 160);
  for (std::int64_t value = 1; value < 2000; ++value)
    EXPECT_LE(nearest_quarter(value), nearest_quarter(value + 1));
  EXPECT_EQ(nearest_quarter(std::numeric_limits<std::int64_t>::max()), std::int64_t{7} << 60);
}

TEST(Bucket, LeavesOutWhatNoLaunchDependsOn) {
  Problem problem = problem_at(4096);
  const Bucket bucket = bucket_of(problem);
  problem.gate = "strong";
  problem.seed = 7;
  problem.scale = 2.0;
  EXPECT_EQ(bucket_of(problem), bucket);
  problem.initial_state = true;
  EXPECT_NE(bucket_of(problem), bucket);
}

TEST(Bucket, BatchAndHeadsCountTogether) {
  EXPECT_EQ(bucket_of(problem_at(4096, 8, 16)), bucket_of(problem_at(4096, 128, 1)));
  EXPECT_EQ(bucket_of(problem_at(4096, 8, 16)).batch_heads, 128);
  EXPECT_EQ(bucket_of(problem_at(4096, 6, 16)).batch_heads, 96);
}

TEST(Bucket, HeadDimensionsAreExact) {
  Problem problem = problem_at(4096);
  problem.shape.key_dim = 100;
  EXPECT_EQ(bucket_of(problem).shape.key_dim, 100);
}

TEST(Bucket, GroupAndKeySeqFollowTheKeys) {
  Problem problem = problem_at(1, 1, 32);
  problem.shape.key_heads = 8;
  problem.shape.key_seq = 60000;
  const Bucket bucket = bucket_of(problem);
  EXPECT_EQ(bucket.group, 4);
  EXPECT_EQ(bucket.shape.key_seq, 65536);
  problem.shape.key_seq = 1;  // as many as seq: nothing of its own
  EXPECT_EQ(bucket_of(problem).shape.key_seq, 0);
}

TEST(Bucket, KeepsEveryExtentAsItsRoleSays) {
  for (const ExtentAxis& axis : extent_axes) {
    Problem problem = problem_at(64, 1, 12);
    problem.shape.*axis.extent = 6;  // a divisor of the heads, and no power of two
    const Bucket bucket = bucket_of(problem);
    const Json json = bucket_to_json(bucket);
    EXPECT_EQ(read_bucket(JsonNode(json, "t.json")), bucket) << axis.name;
    const auto keeping = keeping_of(axis.role);
    EXPECT_EQ(json.contains(axis.name), keeping.has_value()) << axis.name;
    if (!keeping) {
      EXPECT_EQ(bucket.shape.*axis.extent, 0) << axis.name;
      continue;
    }
    const std::int64_t kept = keeping->rounded ? 8 : 6;
    EXPECT_EQ(bucket.shape.*axis.extent, kept) << axis.name;
    EXPECT_EQ(json[std::string(axis.name)], kept) << axis.name;
    const std::string part =
        std::string(axis.symbol) + (keeping->rounded ? "~" : "=") + std::to_string(kept);
    EXPECT_NE((" " + describe(bucket) + " ").find(" " + part + " "), std::string::npos) << part;
    Problem twice = problem;
    twice.shape.*axis.extent = 2 * kept;
    EXPECT_EQ(distance(twice, bucket), keeping->per_doubling) << axis.name;
  }
}

TEST(Bucket, OrderIsByDimensionsThenBlocksThenAmounts) {
  const Bucket base = bucket_of(problem_at(64, 2, 2));
  Bucket longer = base, wider = base, larger = base, other = base;
  longer.shape.seq *= 2;
  wider.batch_heads *= 2;
  larger.shape.key_dim *= 2;
  other.op = "retention";
  const std::vector<Bucket> order{base, longer, wider, larger, other};
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_LT(longer, wider);
  EXPECT_LT(wider, larger);
  EXPECT_EQ(base <=> base, std::strong_ordering::equal);
}

TEST(BucketDistance, CountsDoublings) {
  const Bucket bucket = bucket_of(problem_at(4096));
  EXPECT_EQ(distance(problem_at(4096), bucket), 0.0);
  EXPECT_EQ(distance(problem_at(8192), bucket), 1.0);
  EXPECT_EQ(distance(problem_at(1024), bucket), 2.0);
  EXPECT_EQ(distance(problem_at(8192, 1), bucket), 1.0 + 2 * 3);
  EXPECT_NEAR(*distance(problem_at(6144), bucket), 0.585, 1e-3);
}

TEST(BucketDistance, AStepInHowTheDeviceIsFilledCounts) {
  EXPECT_EQ(rounds_apart(64, 64, 132), 0);
  EXPECT_NEAR(rounds_apart(8, 16, 132), 0, 1e-12) << "neither fills it";
  EXPECT_NEAR(rounds_apart(64, 72, 132), 0.83 + 0.415, 0.01)
      << "two each: 128 and 144 blocks; four";
  EXPECT_NEAR(rounds_apart(40, 64, 132), 0, 1e-12);
  EXPECT_LT(rounds_apart(4096, 5000, 132), 0.1) << "many rounds have no steps";
  EXPECT_EQ(rounds_apart(64, 72, 0), 0);
  EXPECT_EQ(rounds_apart(0, 72, 132), 0);
  EXPECT_EQ(rounds_apart(72, 64, 132), rounds_apart(64, 72, 132));
  const Bucket bucket = bucket_of(problem_at(4096, 4, 16));
  const Problem problem = problem_at(4096, 17, 4);
  EXPECT_NEAR(*distance(problem, bucket), 2 * 0.0875, 1e-3);
  EXPECT_NEAR(*distance(problem, bucket, 132), 2 * 0.0875 + 2 * rounds_apart(68, 64, 132), 1e-3);
}

TEST(BucketDistance, OtherHeadDimensionsStatesAndOptionsAreFar) {
  const Bucket bucket = bucket_of(problem_at(4096));
  Problem problem = problem_at(4096);
  problem.shape.key_dim = 64;
  EXPECT_EQ(distance(problem, bucket), 4.0);
  problem = problem_at(4096);
  problem.layout = Layout::head_first;
  EXPECT_EQ(distance(problem, bucket), 1.0);
  problem = problem_at(4096);
  problem.initial_state = true;
  EXPECT_EQ(distance(problem, bucket), 2.0);
  problem = problem_at(4096);
  problem.shape.sequences = 16;
  EXPECT_EQ(distance(problem, bucket), 8.0);
  problem = problem_at(4096);
  problem.options["in_place"] = "true";
  EXPECT_EQ(distance(problem, bucket), 16.0);
}

TEST(BucketDistance, LeavesNoFamily) {
  const Bucket bucket = bucket_of(problem_at(4096));
  Problem problem = problem_at(4096);
  problem.dtype = DType::float32;
  EXPECT_FALSE(distance(problem, bucket));
  problem = problem_at(4096);
  for (const Direction direction : {Direction::backward, Direction::training}) {
    problem.direction = direction;
    EXPECT_FALSE(distance(problem, bucket));
  }
  problem = problem_at(4096);
  problem.op = "retention";
  EXPECT_FALSE(distance(problem, bucket));
}

TEST(Bucket, ComesBackFromJson) {
  Problem problem = problem_at(1000, 2, 3);
  problem.initial_state = true;
  problem.final_state = false;
  problem.layout = Layout::head_first;
  problem.shape.key_heads = 1;
  problem.shape.key_seq = 9;
  problem.shape.sequences = 5;
  problem.options["lengths"] = "skewed";
  const Bucket bucket = bucket_of(problem);
  const Json json = bucket_to_json(bucket);
  EXPECT_EQ(read_bucket(JsonNode(json, "t.json")), bucket);
  for (const Direction direction : directions) {
    problem.direction = direction;
    const Bucket one = bucket_of(problem);
    EXPECT_EQ(read_bucket(JsonNode(bucket_to_json(one), "t.json")), one);
  }
  Json short_name = json;
  short_name["dtype"] = "bf16";
  EXPECT_EQ(read_bucket(JsonNode(short_name, "t.json")).dtype, DType::bfloat16);
  EXPECT_EQ(describe(bucket),
            "T~1024 BH~6 Tk~8 N~4 K=128 V=128 group=3 h0 no_ht head_first lengths=skewed");
  Json bad = json;
  bad["seq"] = 0;
  EXPECT_THROW(read_bucket(JsonNode(bad, "t.json")), InputError);
}

}  // namespace
}  // namespace gla_bench
