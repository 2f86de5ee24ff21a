// Choices of `auto` that are carried into a table without a model.

#include "harness/tuned_table/foretell.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "core/catalog.hpp"
#include "core/tile_space.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/cost_model/predictor.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/tuned_table/evaluate.hpp"
#include "harness/tuned_table/table_file.hpp"
#include "tests/support/places.hpp"

namespace gla_bench {
namespace {

Problem gla(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t dim) {
  Problem problem;
  problem.op = "gla";
  problem.dtype = DType::bfloat16;
  problem.shape = {batch, seq, heads, dim, dim};
  return problem;
}

TEST(ProblemGrid, HasAllSizesOfEachExampleOnce) {
  const std::vector<Problem> like{gla(8, 4096, 16, 128), gla(1, 100, 3, 128)};
  const auto grid = problem_grid(like, 1e18);
  EXPECT_EQ(grid.size(), 12u * 24u);  // both are the same in all but sizes
  std::set<Bucket> buckets;
  for (const Problem& problem : grid) {
    EXPECT_EQ(problem.shape.key_dim, 128);
    EXPECT_EQ(problem.shape.batch * problem.shape.heads % problem.shape.heads, 0);
    EXPECT_TRUE(buckets.insert(bucket_of(problem)).second);
  }
  const auto small = problem_grid(like, 1e8);
  EXPECT_LT(small.size(), grid.size());
  EXPECT_GT(small.size(), 50u);
}

TEST(ProblemGrid, KeepsGroupsRowsAndRaggedSequences) {
  Problem grouped = gla(2, 1024, 12, 64);
  grouped.op = "attention";
  grouped.shape.key_heads = 4;
  const auto groups = problem_grid(std::vector{grouped}, 1e18);
  EXPECT_GT(groups.size(), 50u);
  for (const Problem& problem : groups)
    EXPECT_EQ(problem.shape.heads, 3 * problem.shape.key_heads) << describe(problem);
  Problem rows;
  rows.op = "softmax";
  rows.shape = {100, 1, 1, 0, 0};
  rows.shape.columns = 999;
  const auto softmax = problem_grid(std::vector{rows}, 1e18);
  ASSERT_EQ(softmax.size(), 12u * 24u);
  EXPECT_EQ(softmax.back().shape.columns, 131072);
  EXPECT_EQ(softmax.back().shape.batch, 4096);
  Problem ragged = gla(1, 4096, 8, 128);
  ragged.shape.sequences = 100;
  for (const Problem& problem : problem_grid(std::vector{ragged}, 1e18)) {
    EXPECT_EQ(problem.shape.batch, 1);
    EXPECT_GE(problem.shape.seq, 100);
  }
}

class CommittedChoices : public testing::Test {
 protected:
  CommittedChoices()
      : folder_(std::string(places::source_dir) + "/results/tuned/nvidia-h200"),
        table_(load_table(folder_ + ".json")),
        environment_(table_.environments.front()),
        limits_(recorded_limits(environment_)),
        chooser_(program_catalog(), BackendId::cuda, table_, environment_, {},
                 [](const Variant& variant) { return source_hash(variant); }),
        predictor_(
            *cost_model::open_predictor(folder_ + ".model.json", BackendId::cuda, environment_)) {
    chooser_.predict_by(predictor_);
  }

  Refusal refuse() const {
    return [this](const Candidate& candidate) {
      return candidate.variant->reject(candidate.problem, candidate.tile, limits_);
    };
  }

  /// The choices on all sizes of one problem, made once for all tests.
  const std::vector<Problem>& grid() const {
    static const auto problems = problem_grid(std::vector{gla(8, 4096, 16, 128)}, 16e9);
    return problems;
  }
  const TunedTable& carried() const {
    static const TunedTable table = with_choices(chooser_, grid(), refuse());
    return table;
  }

  static const TunedChoice& says(const TunedTable& table, const Problem& problem) {
    return table.entries[nearest_entries(table, problem).front().entry].winner;
  }

  std::string folder_;
  TunedTable table_;
  Facts environment_;
  Limits limits_;
  Chooser chooser_;
  cost_model::Predictor predictor_;
};

TEST_F(CommittedChoices, TheTableAloneSaysWhatAutoTakesOnTheWholeGrid) {
  ASSERT_GT(grid().size(), 200u);
  EXPECT_GT(carried().entries.size(), table_.entries.size());
  EXPECT_LT(carried().entries.size(), table_.entries.size() + grid().size());
  std::size_t others = 0;
  for (const Problem& problem : grid()) {
    const Candidate choice = *chooser_.choose(problem, refuse()).candidate;
    EXPECT_EQ(says(carried(), problem).variant, choice.variant->name) << describe(problem);
    EXPECT_EQ(says(carried(), problem).tile, choice.tile) << describe(problem);
    others += says(table_, problem).tile != choice.tile ? 1 : 0;
  }
  EXPECT_GT(others, 20u);  // the table as measured says something else
  for (const TunedEntry& entry : carried().entries)
    EXPECT_EQ(entry.won_by == "model", entry.measured.empty());
}

TEST_F(CommittedChoices, BetweenTheGridsProblemsItsChoicesAreNearlyAsGood) {
  std::mt19937_64 random(1);
  std::vector<double> costs, costs_of_table;
  for (int i = 0; i < 120; ++i) {  // of 60, nine in ten move by 0.04 from draw to draw
    const auto drawn = [&](double most) {
      return static_cast<std::int64_t>(
          std::exp2(std::log2(most) * std::generate_canonical<double, 53>(random)));
    };
    const Problem problem = gla(drawn(32), 64 * drawn(500), drawn(64), 128);
    const Candidate choice = *chooser_.choose(problem, refuse()).candidate;
    const auto cost = [&](const TunedTable& table) {
      const TunedChoice& said = says(table, problem);
      const Candidate candidate{
          find_variant("gla", said.variant, BackendId::cuda, Direction::forward), problem,
          said.tile};
      // What the variant refuses there is left out of both.
      if (refuse()(candidate)) return 1.0;
      return predictor_.predict(candidate).seconds / predictor_.predict(choice).seconds;
    };
    costs.push_back(cost(carried()));
    costs_of_table.push_back(cost(table_));
  }
  EXPECT_LE(median(costs), 1.005);
  EXPECT_LE(quantile(costs, 0.9), 1.1);
  EXPECT_GT(quantile(costs_of_table, 0.9), quantile(costs, 0.9));
}

}  // namespace
}  // namespace gla_bench
