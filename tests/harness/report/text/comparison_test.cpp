#include "harness/report/text/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "tests/support/timed_record.hpp"

namespace gla_bench {
namespace {

using toy::results_of;
using toy::timed;

std::vector<std::string> verdicts(const Comparison& comparison) {
  std::vector<std::string> list;
  for (const ComparedRow& row : comparison.rows) list.push_back(row.verdict);
  return list;
}

TEST(CompareRuns, PairsFilesByNameAndElseByPlace) {
  const std::vector<Results> base{results_of({timed("a", 1)}, "old/one.json"),
                                  results_of({timed("b", 1)}, "old/two.json")};
  const std::vector<Results> fresh{results_of({timed("b", 2)}, "new/two.json"),
                                   results_of({timed("a", 1)}, "new/one.json")};
  const auto named = compare_runs(base, fresh);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->base, "old/two.json, old/one.json");
  EXPECT_EQ(verdicts(*named), (std::vector<std::string>{"slower", "inconclusive"}))
      << "3 % may have drifted";
  EXPECT_EQ(named->rows[1].file, "new/one.json");
  EXPECT_EQ(outcome_of(*named), Outcome::regression);
  const std::vector<Results> renamed{results_of({timed("a", 1)}, "x.json"),
                                     results_of({timed("b", 0.5)}, "two.json")};
  const auto placed = compare_runs(base, renamed);
  EXPECT_EQ(placed->base, "old/one.json, old/two.json");
  EXPECT_EQ(verdicts(*placed), (std::vector<std::string>{"inconclusive", "faster"}));
}

TEST(CompareRuns, TellsWhatDiffersOnceAndTheLargestDrift) {
  std::vector<Results> base{results_of({timed("a", 1)}, "1"), results_of({timed("b", 1)}, "2")};
  auto fresh = base;
  for (Results& results : base) results.environment["driver"] = std::string("1.0");
  for (Results& results : fresh) results.environment["driver"] = std::string("2.0");
  fresh[1].environment["copy_gb_per_s"] = 11.0;
  const auto both = compare_runs(base, fresh);
  EXPECT_EQ(std::count_if(both->differences.begin(), both->differences.end(),
                          [](const Difference& d) { return d.key == "driver"; }),
            1);
  EXPECT_NEAR(both->drift, 0.1, 1e-9);
}

TEST(CompareRuns, RowsNameTheirPlacesInBothFiles) {
  Results base = results_of({timed("a", 1), timed("b", 1), timed("gone", 1)});
  base.places = {4, 7, 9};
  const Results fresh = results_of({timed("fresh", 1), timed("b", 1), timed("a", 1)});
  const auto rows = compare_runs(std::span(&base, 1), std::span(&fresh, 1))->rows;
  ASSERT_EQ(rows.size(), 4u);
  const auto places = [&](std::size_t row) {
    return std::pair{rows[row].base_place, rows[row].fresh_place};
  };
  EXPECT_EQ(places(0), (std::pair<std::size_t, std::size_t>{0, 1}));
  EXPECT_EQ(places(1), (std::pair<std::size_t, std::size_t>{7, 2}));
  EXPECT_EQ(places(2), (std::pair<std::size_t, std::size_t>{4, 3}));
  EXPECT_EQ(places(3), (std::pair<std::size_t, std::size_t>{9, 0}));
}

TEST(CompareRuns, LeavesPeersFilesOutAndRefusesOtherNumbers) {
  Record peer = timed("fla.chunk_gla", 1);
  peer.peer = true;
  const std::vector<Results> base{results_of({timed("a", 1)}, "old.json")};
  std::vector<Results> fresh{results_of({peer}, "peers.json"), results_of({timed("a", 1)})};
  EXPECT_EQ(compare_runs(base, fresh)->rows.size(), 1u);
  EXPECT_THROW(compare_runs({fresh.data(), 1}, {fresh.data(), 1}), InputError);
  fresh.push_back(results_of({timed("b", 1)}));
  try {
    compare_runs(base, fresh);
    FAIL() << "one base for two files";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--against: found 1 files"), std::string::npos);
  }
}

TEST(CompareRuns, TakesInterleavedRoundsWhereThereIsNoBase) {
  Record record = timed("a", 1);
  EXPECT_FALSE(compare_runs({}, std::vector{results_of({record})}));
  Against& against = record.against.emplace();
  against.status = Status::verified;
  against.verification = record.verification;
  against.samples = 1;
  for (int round = 0; round < 20; ++round) {
    against.base_ms.push_back(round % 2 == 0 ? 0.995 : 1.005);
    against.new_ms.push_back(against.base_ms.back() * (round % 3 == 0 ? 1.101 : 1.1));
  }
  against.first = std::string(20, 'b');
  const auto rounds = compare_runs({}, std::vector{results_of({record})});
  ASSERT_TRUE(rounds);
  EXPECT_TRUE(rounds->paired);
  EXPECT_EQ(verdicts(*rounds), std::vector<std::string>{"slower"});
  EXPECT_EQ(rounds->rows[0].base_place, 0u);
  EXPECT_EQ(rounds->rows[0].fresh_place, 1u);
}

}  // namespace
}  // namespace gla_bench
