// Rows take the verdict of a newer verification only where it is of what was timed.

#include "harness/judge/renewal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/sample_record.hpp"

namespace gla_bench {
namespace {

constexpr auto newer = "ffffffffffffffff-fedcba9876543210";

Record measured(int number) {
  Record record = sample_record(number);
  record.verification->timed_launches = LaunchLooks{16, 0, 0, 4};
  record.verification->loaded_launches = LaunchLooks{100, 0, 0, 0};
  return record;
}

// The same candidate, verified by other rules and not timed.
Record verified(int number) {
  Record record = sample_record(number);
  record.status = Status::verified;
  record.timing.reset();
  record.verification->last_timed_ok.reset();
  record.verification->tensors["o"].bound = 2e-3;
  record.verifier_hash = newer;
  return record;
}

Results file(std::vector<Record> records, const std::string& device = "toy") {
  Results results;
  results.file = "old.json";
  results.environment = {{"device", device}, {"backend", "host"}, {"git_commit", "abc"}};
  results.records = std::move(records);
  return results;
}

Renewal renewed(Results& old, std::vector<Record> records) {
  std::vector<Results> fresh{file(std::move(records))};
  fresh.front().environment["git_commit"] = "def";
  return renew(old, fresh);
}

TEST(Renewal, ARowTakesTheVerdictAndKeepsItsTime) {
  Results old = file({measured(1)});
  const Renewal renewal = renewed(old, {verified(1)});
  EXPECT_EQ(renewal.renewed, 1);
  EXPECT_TRUE(renewal.left.empty());
  const Record& row = old.records.front();
  EXPECT_EQ(row.status, Status::measured);
  EXPECT_EQ(row.verifier_hash, newer);
  EXPECT_EQ(row.timing->cold.median_ms, 1.25);
  EXPECT_EQ(row.verification->tensors.at("o").bound, 2e-3);
  EXPECT_EQ(row.verification->last_timed_ok, true);
  EXPECT_EQ(row.verification->timed_launches->launches, 16);
  EXPECT_EQ(row.verification->loaded_launches->launches, 100);
  ASSERT_EQ(old.extended.size(), 1u);
  EXPECT_EQ(old.extended.front().git_commit, "def");
  EXPECT_EQ(old.extended.front().records_renewed, 1);
  EXPECT_EQ(old.extended.front().records_kept, 1);
  EXPECT_EQ(describe(old.extended.front()), "1 row verified anew  with commit def");
  Extension extended;
  extended.git_commit = "a";
  extended.started = "b";
  EXPECT_EQ(describe(extended), "extended b with commit a");
}

struct Case {
  const char* why;
  std::function<void(Record& old, Record& fresh)> change;
};

class NotRenewable : public testing::TestWithParam<Case> {};

TEST_P(NotRenewable, StaysAsItIs) {
  Record before = measured(1), fresh = verified(1);
  GetParam().change(before, fresh);
  Results old = file({before});
  const Renewal renewal = renewed(old, {fresh});
  EXPECT_EQ(renewal.renewed, 0);
  ASSERT_EQ(renewal.left.size(), 1u);
  EXPECT_NE(renewal.left.front().why.find(GetParam().why), std::string::npos)
      << renewal.left.front().why;
  EXPECT_EQ(renewal.left.front().wrong, std::string(GetParam().why).starts_with("is wrong now"));
  EXPECT_EQ(record_line(old.records.front()), record_line(before));
  EXPECT_TRUE(old.extended.empty());
}

TensorVerdict& output(Record& record) {
  return record.verification->tensors.at("o");
}

INSTANTIATE_TEST_SUITE_P(
    Renewal, NotRenewable,
    testing::Values(
        Case{"was verified with other sources", [](Record&, Record& r) { r.source_hash = "1"; }},
        Case{"was not verified again",
             [](Record&, Record& r) {
               r.tile = {{"chunk", 32}};
             }},
        Case{"was not verified: out of",
             [](Record&, Record& r) {
               r.status = Status::crashed;
               r.reason = "out of memory";
               r.verification.reset();
             }},
        Case{"is wrong now: 'o'",
             [](Record&, Record& r) {
               r.status = Status::wrong;
               r.verification->ok = false;
               r.reason = "'o' is wrong";
             }},
        Case{"is right now",
             [](Record& r, Record&) {
               r.status = Status::wrong;
               r.verification->ok = false;
             }},
        Case{"may differ", [](Record&, Record& r) { r.verification->deterministic = false; }},
        Case{"may differ", [](Record& r, Record&) { r.verification->deterministic = false; }},
        Case{"may differ",
             [](Record& r, Record&) { r.verification->timed_launches->differed = 1; }},
        Case{"may differ",
             [](Record& r, Record&) { r.verification->loaded_launches->differed = 1; }},
        Case{"other outputs", [](Record&, Record& r) { output(r).rel_l2 += 1e-13; }},
        Case{"other outputs", [](Record&, Record& r) { output(r).max_abs += 1e-13; }},
        Case{"other outputs", [](Record&, Record& r) { output(r).signed_mean = 1e-9; }},
        Case{"other outputs", [](Record&, Record& r) { output(r).worst.got += 1e-9; }},
        Case{"other outputs", [](Record&, Record& r) { output(r).worst.expected += 1e-9; }},
        Case{"other outputs", [](Record& r, Record&) { output(r).worst.expected = INFINITY; }},
        Case{"other outputs", [](Record&, Record& r) { output(r).worst.index[1] = 2; }},
        Case{"other outputs",
             [](Record&, Record& r) { r.verification->tensors["state"] = output(r); }}));

// A reference on the host is summed in another order by another number of threads.
TEST(Renewal, AnotherOrderOfTheReferenceIsNoOtherOutput) {
  Results old = file({measured(1)});
  Record fresh = verified(1);
  output(fresh).rel_l2 += 4e-16;
  output(fresh).max_abs -= 4e-16;
  output(fresh).worst.expected *= 1 + 4e-16;
  EXPECT_EQ(renewed(old, {fresh}).renewed, 1);
}

// As where no row of lse sees a key.
TEST(Renewal, TheSameInfinityIsNoOtherOutput) {
  Record row = measured(1), fresh = verified(1);
  for (Record* one : {&row, &fresh})
    output(*one).worst.got = output(*one).worst.expected = -INFINITY;
  Results old = file({row});
  EXPECT_EQ(renewed(old, {fresh}).renewed, 1);
}

TEST(Renewal, RowsThatWereNotTimedHereAreLeftOut) {
  Record rejected = measured(1), elsewhere = measured(2), current = measured(3);
  rejected.status = Status::rejected;
  rejected.verification.reset();
  rejected.timing.reset();
  elsewhere.peer = true;
  elsewhere.manifest.clear();
  current.verifier_hash = newer;
  Results old = file({rejected, elsewhere, current});
  const Renewal renewal = renewed(old, {verified(1), verified(2), verified(3)});
  EXPECT_EQ(renewal.renewed, 0);
  EXPECT_EQ(renewal.current, 1);
  EXPECT_TRUE(renewal.left.empty());
}

TEST(Renewal, AWrongRowThatIsStillWrongTakesItsVerdict) {
  Record peer = measured(1), fresh = verified(1);
  peer.peer = true;
  peer.manifest = "peer.json";
  fresh.peer = true;
  fresh.manifest = "peer.json";
  for (Record* record : {&peer, &fresh}) {
    record->status = Status::wrong;
    record->verification->ok = false;
    record->verification->deterministic = false;
    record->reason = "rel_l2";
  }
  output(fresh).rel_l2 = 2e-4;
  Results old = file({peer});
  EXPECT_EQ(renewed(old, {fresh}).renewed, 1);
  EXPECT_EQ(old.records.front().status, Status::wrong);
  EXPECT_EQ(old.records.front().verifier_hash, newer);
}

TEST(Renewal, AnotherDeviceIsRefused) {
  Results old = file({measured(1)});
  const std::vector<Results> fresh{file({verified(1)}, "another")};
  EXPECT_EQ(error_of([&] { renew(old, fresh); }),
            "old.json: was made on another device (\"another\", old.json has \"toy\"), so its "
            "verdicts are not those of the same candidates");
}

}  // namespace
}  // namespace gla_bench
