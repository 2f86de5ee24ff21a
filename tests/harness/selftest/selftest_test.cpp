// The self-test's own verdict can fail, too.

#include "harness/selftest/selftest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/measure/checks.hpp"
#include "harness/selftest/planted.hpp"

namespace gla_bench::selftest {
namespace {

Record record(std::string_view variant, Status status) {
  Record r;
  r.variant = variant;
  r.status = status;
  return r;
}

Record wrong(std::string_view variant, std::string_view check) {
  Record r = record(variant, Status::wrong);
  r.verification.emplace();
  r.verification->check = check;
  return r;
}

Record of(const planted::PlantedFault& fault) {
  if (fault.check == check::crash) return record(fault.name, Status::crashed);
  if (fault.check == check::timeout) return record(fault.name, Status::timeout);
  if (fault.check == check::memory) {
    Record r = record(fault.name, Status::crashed);
    r.reason = "cudaMalloc: cudaErrorMemoryAllocation (2): out of memory";
    return r;
  }
  if (fault.check == check::wall_clock || fault.check == check::unseen_inputs) {
    Record r = record(fault.name, Status::measured);
    r.timing.emplace();
    r.timing->suspect = true;
    r.timing->suspect_check = fault.check;
    return r;
  }
  return wrong(fault.name, fault.check);
}

/// What a harness would say that catches everything.
std::vector<Outcome> all_caught() {
  std::vector<Outcome> outcomes;
  for (const planted::PlantedFault& control : planted::controls())
    outcomes.push_back({record(control.name, Status::measured), 0.5});
  for (const planted::PlantedFault& fault : planted::faults())
    outcomes.push_back({of(fault), 0.25});
  return outcomes;
}

Outcome& find(std::vector<Outcome>& outcomes, std::string_view variant) {
  return *std::find_if(outcomes.begin(), outcomes.end(),
                       [&](const Outcome& o) { return o.record.variant == variant; });
}

std::size_t failures(const std::vector<Row>& rows) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.ok; }));
}

TEST(SelfTest, PassesWhereEachFaultIsCaughtByItsCheck) {
  const auto rows = judge(planted::expected(BackendId::host), all_caught());
  EXPECT_TRUE(passed(rows));
  EXPECT_EQ(rows.size(), planted::faults().size() + planted::controls().size());
  EXPECT_FALSE(passed({}));
  const Json json = to_json(BackendId::host, rows);
  EXPECT_TRUE(json["ok"].get<bool>());
  EXPECT_EQ(json["faults"].size(), rows.size());
  EXPECT_EQ(json["faults"].back()["seconds"].get<double>(), 0.25);
  EXPECT_EQ(table(rows).rows.size(), rows.size());
}

TEST(SelfTest, AnotherCheckIsNotGoodEnough) {
  auto outcomes = all_caught();
  find(outcomes, "wrong_head").record.verification->check = check::max_abs;
  const auto rows = judge(planted::expected(BackendId::host), outcomes);
  EXPECT_EQ(failures(rows), 1u);
  EXPECT_NE(table(rows).text().find("FAILED, expected rel_l2"), std::string::npos);
}

TEST(SelfTest, AFaultThatPassesFails) {
  for (const planted::PlantedFault& fault : planted::faults()) {
    auto outcomes = all_caught();
    find(outcomes, fault.name).record = record(fault.name, Status::measured);
    EXPECT_EQ(failures(judge(planted::expected(BackendId::host), outcomes)), 1u) << fault.name;
  }
}

TEST(SelfTest, AFaultWithoutARecordFails) {
  auto outcomes = all_caught();
  outcomes.pop_back();
  EXPECT_EQ(failures(judge(planted::expected(BackendId::host), outcomes)), 1u);
}

TEST(SelfTest, FaultsWhoseControlFailsMayBeCaughtByAccident) {
  const auto with_control = [](std::string_view control) {
    return static_cast<std::size_t>(std::count_if(
        planted::faults().begin(), planted::faults().end(),
        [&](const planted::PlantedFault& fault) { return fault.control == control; }));
  };
  for (const Status status : {Status::wrong, Status::verified, Status::crashed}) {
    auto outcomes = all_caught();
    find(outcomes, "honest_slow").record.status = status;
    EXPECT_EQ(failures(judge(planted::expected(BackendId::host), outcomes)),
              1 + with_control("honest_slow"))
        << name(status);
  }
  auto outcomes = all_caught();
  find(outcomes, "honest").record.timing.emplace();
  find(outcomes, "honest").record.timing->suspect = true;
  find(outcomes, "honest").record.timing->suspect_check = check::floor;
  EXPECT_EQ(failures(judge(planted::expected(BackendId::host), outcomes)),
            1 + with_control("honest"));
}

TEST(SelfTest, WhatOnlyTheHostCanDoIsNotAskedOfAGpu) {
  auto outcomes = all_caught();
  std::erase_if(outcomes, [](const Outcome& o) { return o.record.variant == "hoarding"; });
  EXPECT_TRUE(passed(judge(planted::expected(BackendId::cuda), outcomes)));
  EXPECT_FALSE(passed(judge(planted::expected(BackendId::host), outcomes)));
}

TEST(SelfTest, EachFaultHasAVariantOnEachBackendAndAControl) {
  const Catalog catalog = planted::catalog();
  for (const planted::PlantedFault& fault : planted::faults()) {
    for (const BackendId backend : {BackendId::host, BackendId::cuda}) {
      if (fault.host_only && backend != BackendId::host) continue;
      EXPECT_NE(catalog.find_variant("gla", fault.name, backend, Direction::forward), nullptr);
      EXPECT_NE(catalog.find_variant("gla", fault.control, backend, Direction::forward), nullptr);
    }
    EXPECT_FALSE(fault.check.empty());
  }
}

}  // namespace
}  // namespace gla_bench::selftest
