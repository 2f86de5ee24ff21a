// The planted faults in this process, but for those that end it: each caught by its check.

#include "harness/selftest/planted.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "harness/checks.hpp"
#include "harness/run.hpp"
#include "harness/selftest/selftest.hpp"
#include "harness/source_hash.hpp"

namespace gla_bench {

namespace planted {
// For GoogleTest's messages.
void PrintTo(const PlantedFault& fault, std::ostream* out) {
  *out << fault.name;
}
}  // namespace planted

namespace {

using selftest::caught_by;

/// Runs a candidate of the planted catalog on the host.
Record outcome_of(const std::string& variant) {
  const auto backend = planted::with_cheating_timer(make_host_backend({.threads = 1}));
  const Catalog catalog = planted::catalog();
  Assignment work;
  work.problem = planted::problem();
  work.op = catalog.find_operator("gla");
  work.accepted.push_back(
      {catalog.find_variant("gla", variant, BackendId::host, Direction::forward),
       work.problem,
       {{"chunk", 32}}});
  RunPlan plan;
  plan.place.source_hash = [](const Variant& v) { return source_hash(v); };
  plan.tolerance = default_tolerance();
  plan.timing = {2, 3, 5, 0, 1, 1, true};
  std::vector<Record> records;
  std::ostringstream nowhere;
  Progress progress(nowhere, 2, {});
  run(
      *backend, std::span(&work, 1), plan, [&](const Record& r) { records.push_back(r); },
      progress);
  return records.size() == 1 ? records.front() : Record{};
}

class Planted : public testing::TestWithParam<planted::PlantedFault> {};

TEST_P(Planted, IsCaughtByItsCheckAndNoOther) {
  const Record record = outcome_of(std::string(GetParam().name));
  EXPECT_EQ(caught_by(record), GetParam().check) << record.reason;
  const Record control = outcome_of(std::string(GetParam().control));
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

INSTANTIATE_TEST_SUITE_P(Host, Planted, testing::ValuesIn(harmless()),
                         [](const auto& planted) { return std::string(planted.param.name); });

}  // namespace
}  // namespace gla_bench
