#include "harness/report/text/measured.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/report/text/report.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Record counted(double read, double written) {
  Record record;
  record.problem = toy::problem();
  record.variant = "counted_one";
  record.backend = BackendId::cuda;
  record.status = Status::measured;
  record.io = {1000, 1500, 500, 0};
  CounterReading& reading = record.io.measured.emplace();
  reading.source = CounterSource::cupti;
  reading.dram_read_bytes = read;
  reading.dram_write_bytes = written;
  reading.metrics["lts__t_sectors_srcunit_tex.sum"] = 100;
  return record;
}

std::vector<std::string> cells(const Record& record, double cache) {
  const Record* const pointer = &record;
  const Table table = measured_table({&pointer, 1}, cache);
  return table.rows.empty() ? std::vector<std::string>{} : table.rows.front();
}

TEST(ReportMeasured, HoldsCountedBytesAgainstModelAndFloor) {
  const auto row = cells(counted(1500, 540), 100);
  ASSERT_EQ(row.size(), 10u);
  EXPECT_EQ(row[4], "1.020");
  EXPECT_EQ(row[5], "1.600") << "100 sectors of 32 bytes";
  EXPECT_EQ(row[6], "2.040");
  EXPECT_EQ(row[7], "-");
}

TEST(ReportMeasured, MarksATenthMoreOrLessThanTheModelOnLargeProblemsOnly) {
  EXPECT_EQ(cells(counted(1500, 740), 100)[4], "1.120 !");
  EXPECT_EQ(cells(counted(1200, 540), 100)[4], "0.870 !");
  EXPECT_EQ(cells(counted(1500, 740), 501)[4], "1.120") << "what fits in the cache may stay there";
  EXPECT_EQ(cells(counted(1500, 740), 0)[4], "1.120") << "an unknown cache proves nothing";
}

TEST(ReportMeasured, AReasonStandsWhereFiguresWould) {
  Record record = counted(0, 0);
  record.io.measured = CounterReading{};
  record.io.measured->source = CounterSource::denied;
  record.io.measured->reason = "only administrators";
  EXPECT_EQ(cells(record, 100).back(), "denied: only administrators");
  EXPECT_TRUE(std::isnan(measured_bytes(record)));
  record.io.measured->source = CounterSource::not_asked;
  EXPECT_TRUE(cells(record, 100).empty());
}

TEST(ReportMeasured, EnergyIsShownInAUnitThatFits) {
  Record record = counted(1500, 500);
  record.energy = Energy{0.0123, 512, 0.3, 100, ""};
  EXPECT_EQ(cells(record, 100)[7], "12.3 mJ");
  EXPECT_EQ(cells(record, 100)[8], "512");
  record.energy->joules_per_call = 2.5;
  EXPECT_EQ(cells(record, 100)[7], "2.5 J");
}

TEST(ReportMeasured, ReportsHaveTheTableAndSayWhatWasThrottled) {
  Record record = counted(1500, 540);
  record.verification.emplace().ok = true;
  record.timing.emplace().cold.median_ms = 1;
  record.timing->throttled = true;
  Results results;
  results.file = "r.json";
  results.environment["device"] = std::string("toy");
  results.records = {record};
  const std::string text = report(std::span(&results, 1), {});
  EXPECT_NE(text.find("of model"), std::string::npos) << text;
  EXPECT_NE(text.find("1.020"), std::string::npos) << text;
  EXPECT_NE(text.find("throttled"), std::string::npos) << text;
  results.records.front().io.measured.reset();
  EXPECT_EQ(report(std::span(&results, 1), {}).find("of model"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
