#include "harness/engine/throttled.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

class Throttled : public ::testing::Test {
 protected:
  Throttled() {
    for (const char* name : {"one", "two"}) {
      Variant variant;
      variant.op = "toy";
      variant.name = name;
      variants.push_back(variant);
    }
    for (int seed = 1; seed <= 2; ++seed) {
      Assignment point;
      point.problem = toy::problem();
      point.problem.seed = static_cast<std::uint64_t>(seed);
      for (const Variant& variant : variants)
        for (const int chunk : {16, 32})
          point.accepted.push_back({&variant, point.problem, {{"chunk", chunk}}});
      point.refused.emplace_back();
      work.push_back(point);
    }
  }

  Record row(std::size_t point, std::size_t candidate, bool throttled, double ms = 1) const {
    const Candidate& of = work[point].accepted[candidate];
    Record record;
    record.problem = of.problem;
    record.variant = of.variant->name;
    record.backend = of.variant->backend;
    record.tile = of.tile;
    record.status = Status::measured;
    record.timing.emplace().throttled = throttled;
    record.timing->cold.median_ms = ms;
    return record;
  }

  std::vector<Variant> variants;
  std::vector<Assignment> work;
};

TEST_F(Throttled, OnlyThrottledRowsAreMeasuredAgain) {
  Record twice = row(0, 0, true);
  twice.throttled_timing = twice.timing;
  const std::vector<Record> records{twice, row(0, 1, false), row(1, 3, true), row(1, 0, false)};
  const std::vector<Assignment> again = throttled_work(work, records);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].problem.seed, 2u);
  ASSERT_EQ(again[0].accepted.size(), 1u);
  EXPECT_EQ(again[0].accepted[0].variant->name, "two");
  EXPECT_EQ(again[0].accepted[0].tile.at("chunk"), 32);
  EXPECT_TRUE(again[0].refused.empty()) << "refusals are recorded already";
}

TEST_F(Throttled, BothTimingsAreKept) {
  std::vector<Record> records{row(0, 0, false), row(0, 1, true, 3)};
  const Record& kept = replace_throttled(records, row(0, 1, false, 2));
  EXPECT_EQ(records.size(), 2u);
  EXPECT_EQ(&kept, &records[1]);
  EXPECT_EQ(kept.timing->cold.median_ms, 2);
  EXPECT_FALSE(kept.timing->throttled);
  EXPECT_EQ(kept.throttled_timing->cold.median_ms, 3);
  EXPECT_TRUE(kept.throttled_timing->throttled);
  EXPECT_TRUE(throttled_work(work, records).empty());
}

TEST_F(Throttled, ARowThatIsThrottledTwiceIsLeftAtThat) {
  std::vector<Record> records{row(0, 1, true, 3)};
  replace_throttled(records, row(0, 1, true, 2));
  EXPECT_TRUE(records[0].timing->throttled);
  EXPECT_TRUE(throttled_work(work, records).empty());
}

TEST_F(Throttled, ASecondAttemptWithoutATimeLeavesTheFirst) {
  Record second = row(0, 1, false);
  second.timing.reset();
  second.status = Status::crashed;
  second.reason = "SIGSEGV";
  const Record kept = measured_again(second, row(0, 1, true, 3));
  EXPECT_EQ(kept.status, Status::crashed);
  EXPECT_EQ(kept.timing->cold.median_ms, 3);
  EXPECT_NE(kept.reason.find("SIGSEGV"), std::string::npos);
  EXPECT_TRUE(throttled_work(work, std::vector<Record>{kept}).empty());
}

TEST_F(Throttled, ARecordWithoutAFirstIsAMistake) {
  std::vector<Record> records{row(0, 0, true)};
  EXPECT_THROW(replace_throttled(records, row(1, 0, false)), std::out_of_range);
}

}  // namespace
}  // namespace gla_bench
