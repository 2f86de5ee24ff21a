// Strategies against recorded exhaustive measurements.

#include "harness/search/replay.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/support/statistics/statistics.hpp"
#include "tests/harness/search/synthetic.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sample_record.hpp"

namespace gla_bench::search {
namespace {

struct Figures {
  double worst_regret = 0, median_regret = 0, worst_share = 0, median_tried = 0;
};

Figures figures(const RecordedProblem& problem, Strategy strategy, const Budget& budget = {}) {
  std::vector<double> regrets, shares, tried;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Replayed one = replay(problem, strategy, budget, seed);
    regrets.push_back(one.regret);
    shares.push_back(one.share);
    tried.push_back(static_cast<double>(one.tried));
  }
  return {quantile(regrets, 1), median(regrets), quantile(shares, 1), median(tried)};
}

/// The committed files in a folder; none where there is no such folder.
std::vector<Results> committed(const std::string& folder, const std::string& prefix) {
  namespace fs = std::filesystem;
  std::vector<Results> files;
  std::error_code missing;
  for (const auto& entry :
       fs::directory_iterator(std::string(places::source_dir) + "/results/" + folder, missing))
    if (entry.path().filename().string().starts_with(prefix) && entry.path().extension() == ".json")
      files.push_back(read_results(entry.path().string()));
  return files;
}

/// What is promised of a search: at most 2 % off, and at most 40 candidates compiled.
TEST(Replay, TheSearchKeepsItsPromiseOnWhatAnH200Measured) {
  const std::vector<Results> files = committed("h200/search", "exhaustive");
  auto problems = recorded_problems(files);
  predict_without_own_shape(problems, files, {});
  EXPECT_GE(problems.size(), 6u);
  for (const RecordedProblem& problem : problems) {
    const Figures of = figures(problem, Strategy::guided);
    EXPECT_LE(of.worst_regret, 0.02) << problem.file << ": " << describe(problem.problem);
    EXPECT_LE(of.median_tried, 40) << problem.file << ": " << describe(problem.problem);
    EXPECT_LE(of.worst_share, 0.3) << problem.file << ": " << describe(problem.problem);
  }
}

TEST(Replay, APromiseThatIsNotKeptIsSeen) {
  // The same figure of a search that tries too little and knows of no predictions.
  Budget few;
  few.candidates = 8;
  int off = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    off += replay(Synthetic(seed).problem(4, 2e-4), Strategy::guided, few, 1).regret > 0.02 ? 1 : 0;
  EXPECT_GE(off, 3);
}

TEST(Replay, ExhaustiveFindsTheBestAndPaysForAll) {
  const RecordedProblem problem = Synthetic(5).problem(2, 3e-4);
  const Figures of = figures(problem, Strategy::exhaustive);
  EXPECT_LE(of.worst_regret, 0.01);
  EXPECT_GE(of.worst_share, 0.5);
  EXPECT_EQ(of.median_tried, 128);
}

TEST(Replay, TheSameSeedGivesTheSameSearch) {
  const RecordedProblem problem = Synthetic(3).problem(3, 1e-4);
  for (const Strategy strategy : {Strategy::guided, Strategy::exhaustive}) {
    const Replayed one = replay(problem, strategy, {}, 7), other = replay(problem, strategy, {}, 7);
    EXPECT_EQ(one.found, other.found);
    EXPECT_EQ(one.samples, other.samples);
    EXPECT_EQ(one.share, other.share);
  }
}

TEST(Replay, BudgetsHold) {
  const RecordedProblem problem = Synthetic(4).problem(4, 2e-4);
  Budget few;
  few.candidates = 30;
  const Replayed by_count = replay(problem, Strategy::guided, few, 1);
  EXPECT_EQ(by_count.tried, 30u);
  ASSERT_TRUE(by_count.found);
  Budget brief;
  brief.seconds = 0.05 * problem.exhaustive_seconds();
  const Replayed by_time = replay(problem, Strategy::guided, brief, 1);
  EXPECT_LE(by_time.share, 0.06);
  EXPECT_LT(by_time.tried, problem.candidates.size());
  ASSERT_TRUE(by_time.found);
}

Record measured(const std::string& tile, std::vector<double> samples_ms) {
  Record record = sample_record(1);
  record.search.reset();
  record.tile = parse_tile(tile);
  record.timing->cold.samples_ms = std::move(samples_ms);
  return record;
}

TEST(Replay, RecordsGiveTheProblemTheirFailuresStayAndWhatOnlyASearchSawDoesNotCount) {
  Results results;
  results.file = "made.json";
  results.environment = {{"copy_gb_per_s", 4000.0}, {"l2_bytes", 1e6}};
  results.records = {measured("chunk=16", {2, 2.1, 1.9}), measured("chunk=32", {1, 1.1, 0.9}),
                     measured("chunk=64", {0.5}), measured("chunk=128", {0.1, 0.1})};
  results.records[2].status = Status::wrong;
  results.records[3].search = SearchNote{"halving", "slower", 1, {}, {}};
  Record peer = measured("", {0.01});
  peer.peer = true;
  results.records.push_back(peer);
  const auto problems = recorded_problems(std::span(&results, 1));
  ASSERT_EQ(problems.size(), 1u);
  const RecordedProblem& problem = problems.front();
  ASSERT_EQ(problem.candidates.size(), 3u);
  EXPECT_EQ(problem.best(), 1u);
  EXPECT_TRUE(problem.samples[2].empty());
  EXPECT_NEAR(problem.exhaustive_seconds(), 9e-3, 1e-12);
  EXPECT_EQ(problem.copy_bytes_per_second, 4e12);
  EXPECT_EQ(problem.last_level_cache, 1e6);
  for (const Strategy strategy : {Strategy::guided, Strategy::exhaustive})
    EXPECT_EQ(replay(problem, strategy, {}, 1).found, 1u) << name(strategy);
  results.records.erase(results.records.begin());
  EXPECT_TRUE(recorded_problems(std::span(&results, 1)).empty());
}

}  // namespace
}  // namespace gla_bench::search
