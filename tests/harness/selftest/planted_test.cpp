// The planted faults in this process, but for those that end it: each caught by its check.

#include "harness/selftest/planted.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "harness/backends/sources/source_hash.hpp"
#include "harness/engine/run.hpp"
#include "harness/measure/checks.hpp"
#include "harness/selftest/selftest.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {

namespace planted {
// For GoogleTest's messages.
void PrintTo(const PlantedFault& fault, std::ostream* out) {
  *out << fault.name;
}
}  // namespace planted

namespace {

using selftest::caught_by;

/// Runs candidates of the planted catalog on the host, one after the other on the same tensors.
std::vector<Record> outcomes_of(const std::vector<std::string>& variants,
                                const std::string& keep_wrong = "") {
  const auto backend = planted::with_cheating_timer(make_host_backend({.threads = 1}));
  const Catalog catalog = planted::catalog();
  Assignment work;
  work.problem = planted::problem(variants.front());
  work.op = catalog.find_operator("gla");
  for (const std::string& variant : variants)
    work.accepted.push_back(
        {catalog.find_variant("gla", variant, BackendId::host, Direction::forward),
         work.problem,
         {{"chunk", 32}}});
  RunRules plan;
  plan.place.source_hash = [](const Variant& v) { return source_hash(v); };
  plan.tolerance = default_tolerance();
  plan.timing = {2, 8, 8, 0, 1, 1, true};
  plan.winner_launches = 100;
  plan.keep_wrong.folder = keep_wrong;
  std::vector<Record> records;
  std::ostringstream nowhere;
  Progress progress(nowhere, 2 * variants.size(), {});
  run(
      *backend, std::span(&work, 1), plan, [&](const Record& r) { records.push_back(r); },
      progress);
  return records;
}

Record outcome_of(std::string_view variant) {
  const auto records = outcomes_of({std::string(variant)});
  return records.size() == 1 ? records.front() : Record{};
}

TEST(Planted, WhatOneDamagesIsNotTheNextOnesFault) {
  const auto records =
      outcomes_of({"changed_input", "honest", "write_behind_output", "write_before_output"});
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(caught_by(records[0]), check::input_changed) << records[0].reason;
  EXPECT_EQ(caught_by(records[1]), check::guard_zone) << records[1].reason;
  EXPECT_EQ(records[2].reason,
            "guard zone before 'final_state' overwritten 4 bytes before its start");
  EXPECT_EQ(records[3].variant, "honest");
  EXPECT_EQ(records[3].status, Status::measured) << records[3].reason;
}

TEST(Planted, AWrongRowLeavesItsTensors) {
  const TemporaryFolder folder;
  const auto records = outcomes_of({"wrong_head", "stale_when_timed", "honest"}, folder.file("x"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].variant, "wrong_head");
  EXPECT_TRUE(std::filesystem::exists(records[0].wrong_tensors)) << records[0].wrong_tensors;
  for (const Record& record : records)
    EXPECT_EQ(record.wrong_tensors.empty(), record.variant == "honest") << record.variant;
}

class PlantedFaults : public testing::TestWithParam<planted::PlantedFault> {};

TEST_P(PlantedFaults, IsCaughtByItsCheckAndNoOther) {
  const Record record = outcome_of(GetParam().name);
  EXPECT_EQ(caught_by(record), GetParam().check) << record.reason;
  const Record control = outcome_of(GetParam().control);
  EXPECT_EQ(control.status, Status::measured) << control.reason;
  EXPECT_EQ(caught_by(control), "") << control.reason;
}

std::vector<planted::PlantedFault> harmless() {
  std::vector<planted::PlantedFault> list;
  for (const planted::PlantedFault& fault : planted::faults())
    if (fault.fault != planted::crash && fault.fault != planted::hang &&
        fault.fault != planted::hoarding)
      list.push_back(fault);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Host, PlantedFaults, testing::ValuesIn(harmless()),
                         [](const auto& planted) { return std::string(planted.param.name); });

}  // namespace
}  // namespace gla_bench
