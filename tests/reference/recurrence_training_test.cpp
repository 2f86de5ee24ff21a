// Training of the linear recurrences is its two passes, with one set of inputs.

#include <gtest/gtest.h>

#include "core/operator.hpp"
#include "tests/reference/recurrence_problems.hpp"
#include "tests/reference/training_passes.hpp"

namespace gla_bench {
namespace {

constexpr const char* members[] = {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"};

Problem training_problem(const std::string& op) {
  Problem problem = gla({2, 37, 3, 6, 5}, find_operator(op)->gates.back());
  problem.op = op;
  problem.direction = Direction::training;
  problem.initial_state = true;
  if (op == "linear_attention") problem.options["normalize"] = "true";
  return problem;
}

TEST(RecurrenceTraining, HasTheOutputsOfBothPasses) {
  for (const char* name : members) expect_outputs_of_both_passes(training_problem(name));
}

TEST(RecurrenceTraining, HasTheTensorsOfBothPassesOnce) {
  for (const char* name : members) expect_tensors_of_both_passes(training_problem(name));
}

// The second pass takes the states of the first.
TEST(RecurrenceTraining, CostsItsTwoPasses) {
  for (const char* name : members) {
    const Problem problem = training_problem(name);
    expect_floor_of_both_passes(problem);
    EXPECT_EQ(find_operator(name)->work(problem).flops, 12.0 * 2 * 37 * 3 * 6 * 5);
  }
}

// gla 8,4096,16,128,128 in bfloat16, in units of one bfloat16 tensor: forward 5, backward 10, whose
// gradients of gates are in float32.
TEST(RecurrenceTraining, FloorOfTheFirstProblem) {
  Problem problem = gla({8, 4096, 16, 128, 128}, "mild");
  problem.dtype = DType::bfloat16;
  problem.direction = Direction::training;
  problem.final_state = false;
  const double unit = 8.0 * 4096 * 16 * 128 * 2;
  EXPECT_EQ(find_operator("gla")->work(problem).floor_bytes, 15 * unit);
}

TEST(RecurrenceTraining, RefusesWhatTheBackwardRefuses) {
  Problem problem = training_problem("gla");
  EXPECT_EQ(find_operator("gla")->refuse(problem), std::nullopt);
  problem.options["in_place"] = "true";
  EXPECT_NE(find_operator("gla")->refuse(problem), std::nullopt);
}

}  // namespace
}  // namespace gla_bench
