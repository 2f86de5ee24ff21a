// What tables cost on a made-up device whose time goes in steps: blocks that do not fit into its
// multiprocessors together come one round later.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/support/statistics/statistics.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/evaluate.hpp"
#include "tests/harness/tuned_table/records.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

constexpr double multiprocessors = 132;

Problem problem_of(std::int64_t seq, std::int64_t batch_heads) {
  Problem problem = toy::problem();
  problem.shape.seq = seq;
  problem.shape.batch = batch_heads;
  problem.shape.heads = 1;
  return problem;
}

/// "fast" walks a sequence in 1, 2 or 4 slices, each a block; "slow" has a block for 256 tokens and
/// costs more for each.
std::vector<Record> measured(const Problem& problem) {
  const auto seq = static_cast<double>(problem.shape.seq),
             walks = static_cast<double>(problem.shape.batch);
  const auto walk = [&](double slices, double cost) {
    return 3e-3 + 1e-4 * seq * cost * std::ceil(walks * slices / multiprocessors);
  };
  const double rounds = std::max(1.0, walks * seq / 256 / multiprocessors);
  const auto tile = [](int chunk) { return Tile{{"chunk", chunk}, {"warps", 2}}; };
  return {timed_record(problem, "fast", tile(64), walk(1, 1)),
          timed_record(problem, "fast", tile(32), walk(2, 0.6)),
          timed_record(problem, "fast", {{"chunk", 16}, {"warps", 1}}, walk(4, 0.4)),
          timed_record(problem, "slow", {}, 1e-2 + 256e-4 * 2 * rounds)};
}

Results measured(const std::vector<std::int64_t>& seqs,
                 const std::vector<std::int64_t>& batch_heads) {
  std::vector<Record> records;
  for (const std::int64_t seq : seqs)
    for (const std::int64_t walks : batch_heads)
      for (Record& record : measured(problem_of(seq, walks))) records.push_back(std::move(record));
  return results_of(std::move(records));
}

/// Regrets on all that lies between 5 and 250 sequences, of 700 to 6000 tokens.
std::vector<double> regrets(const std::vector<Results>& files) {
  std::vector<std::int64_t> walks;
  for (std::int64_t count = 5; count <= 250; ++count) walks.push_back(count);
  const std::vector<Results> others{measured({700, 1100, 1500, 3000, 6000}, walks)};
  TablePolicy policy;
  policy.contest.bootstrap.resamples = 20;
  const Chooser chooser(toy::catalog(), BackendId::cuda, build_table(files, policy),
                        others[0].environment, {}, {});
  std::vector<double> list;
  for (const EvaluatedProblem& row : evaluate(others, chooser).problems)
    list.push_back(*row.regret);
  return list;
}

double share_above(const std::vector<double>& regrets, double limit) {
  const auto count =
      std::count_if(regrets.begin(), regrets.end(), [&](double regret) { return regret > limit; });
  return static_cast<double>(count) / static_cast<double>(regrets.size());
}

TEST(TunedSteps, AChoiceDoesNotCrossAStep) {
  const std::vector<Results> fine{
      measured({2048}, {4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256}),
      measured({512}, {8, 16, 32, 64, 80, 96, 128, 160, 192, 256}),
      measured({8192}, {4, 8, 16, 32, 64})};
  const std::vector<double> known = regrets(fine);
  EXPECT_EQ(median(known), 0);
  EXPECT_LE(quantile(known, 0.95), 0.02);
  EXPECT_LE(share_above(known, 0.2), 0.02);
  EXPECT_LE(quantile(known, 1), 0.35);
  std::vector<Results> unknown = fine;  // of a device of which nothing is known
  for (Results& results : unknown) results.environment.erase("multiprocessors");
  EXPECT_GE(share_above(regrets(unknown), 0.05), 3 * share_above(known, 0.05));
}

TEST(TunedSteps, StepsOfTwoInBlocksAreTooCoarse) {
  const std::vector<double> coarse =
      regrets({measured({512, 1024, 2048, 4096, 8192}, {4, 8, 16, 32, 64, 128, 256})});
  EXPECT_GE(share_above(coarse, 0.05), 0.2);
}

}  // namespace
}  // namespace gla_bench
