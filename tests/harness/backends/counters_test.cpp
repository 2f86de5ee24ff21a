#include "harness/backends/counters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace gla_bench {
namespace {

TEST(Counters, AsksForEachMetricOnce) {
  const std::vector<std::string> more{"lts__t_sector_hit_rate.pct", "dram__bytes_read.sum",
                                      "lts__t_sector_hit_rate.pct"};
  const std::vector<std::string> names = with_io_metrics(more);
  EXPECT_EQ(names.size(), io_metrics().size() + 1);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names.back(), "lts__t_sector_hit_rate.pct");
}

TEST(Counters, WhatTheCallLeftInTheCacheIsWrittenByIt) {
  const Counts call{
      {"dram__bytes_read.sum", 1000}, {"dram__bytes_write.sum", 400}, {"lts__t_bytes.sum", 3000}};
  const Counts write_back{
      {"dram__bytes_read.sum", 9999}, {"dram__bytes_write.sum", 600}, {"lts__t_bytes.sum", 8888}};
  const CounterReading reading = reading_of(call, write_back, 1);
  EXPECT_EQ(reading.source, CounterSource::cupti);
  EXPECT_EQ(reading.dram_write_bytes, 1000);
  EXPECT_EQ(reading.written_back_bytes, 600);
  EXPECT_EQ(reading.dram_read_bytes, 1000) << "what the eviction reads is not the call's";
  EXPECT_EQ(reading.l2_bytes, 3000);
  EXPECT_EQ(reading.metrics, call);
}

TEST(Counters, AMetricThatTheChipLacksIsNoZero) {
  const CounterReading reading = reading_of({{"lts__t_bytes.sum", 3000}}, {}, 1);
  EXPECT_FALSE(reading.dram_read_bytes);
  EXPECT_FALSE(reading.dram_write_bytes);
  EXPECT_EQ(reading.l2_bytes, 3000);
}

TEST(Counters, WhatIsAskedOfTheCacheIsCountedInSectors) {
  EXPECT_EQ(requested_bytes(reading_of({{"lts__t_sectors_srcunit_tex.sum", 100}}, {}, 1)), 3200);
  EXPECT_FALSE(requested_bytes(reading_of({{"lts__t_bytes.sum", 100}}, {}, 1)));
}

TEST(Counters, KnowsTheChipsOfItsArchitectures) {
  EXPECT_EQ(chip_of(90), "GH100");
  EXPECT_EQ(chip_of(80), "GA100");
  EXPECT_FALSE(chip_of(0));
  EXPECT_FALSE(chip_of(91));
}

}  // namespace
}  // namespace gla_bench
