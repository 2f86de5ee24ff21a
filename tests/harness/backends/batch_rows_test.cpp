#include "harness/backends/batch_rows.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench {
namespace {

Problem retention(std::int64_t batch) {
  Problem problem;
  problem.op = "retention";
  problem.gate = "retnet";
  problem.shape = {batch, 5, 2, 3, 4};
  return problem;
}

TEST(BatchRows, TellsWhatGrowsWithTheBatch) {
  const Operator& op = *find_operator("retention");
  const auto per_row = elements_per_row(op, retention(3));
  EXPECT_EQ(per_row.at("q"), 5 * 2 * 3);
  EXPECT_EQ(per_row.at("o"), 5 * 2 * 4);
  EXPECT_EQ(per_row.at("final_state"), 2 * 3 * 4);
  EXPECT_EQ(per_row.at("log_decay"), 0);
}

// The recurrence of some rows is that of the whole batch, row by row.
TEST(BatchRows, PartsAddUpToTheWhole) {
  const Operator& op = *find_operator("retention");
  const Problem problem = retention(3);
  const HostTensors inputs = op.draw(problem);
  const ReferenceTensors expected = op.reference(problem, inputs);
  ReferenceTensors got;
  for (const auto& [name, values] : expected) got[name].resize(values.size());
  for (const BatchRows rows : {BatchRows{0, 2}, BatchRows{2, 1}})
    put_rows(elements_per_row(op, problem), rows,
             op.reference(with_batch(problem, rows.count), rows_of(op, problem, inputs, rows)),
             got);
  EXPECT_EQ(got, expected);
}

TEST(BatchRows, NamesAMissingInput) {
  const Operator& op = *find_operator("retention");
  HostTensors inputs = op.draw(retention(2));
  inputs.erase("k");
  try {
    rows_of(op, retention(2), inputs, {0, 1});
    FAIL() << "took inputs without k";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "no values for input 'k'");
  }
}

}  // namespace
}  // namespace gla_bench
