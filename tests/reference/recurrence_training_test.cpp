// Training of the linear recurrences is its two passes, with one set of inputs.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/operator.hpp"
#include "tests/reference/recurrence_problems.hpp"

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

double bytes_of(const std::vector<TensorSpec>& tensors, TensorSpec::Role role) {
  double bytes = 0;
  for (const TensorSpec& spec : tensors)
    if (spec.role == role) bytes += static_cast<double>(spec.bytes());
  return bytes;
}

template <class Tensors>
void expect_both(const Tensors& both, const Tensors& forward, const Tensors& backward) {
  EXPECT_EQ(both.size(), forward.size() + backward.size());
  for (const Tensors* pass : {&forward, &backward})
    for (const auto& [name, values] : *pass) EXPECT_EQ(both.at(name), values) << name;
}

TEST(RecurrenceTraining, HasTheOutputsOfBothPasses) {
  for (const char* name : members) {
    const Operator& op = *find_operator(name);
    const Problem problem = training_problem(name);
    const Problem forward = in_direction(problem, Direction::forward);
    const Problem backward = in_direction(problem, Direction::backward);
    const HostTensors inputs = op.draw(problem);
    EXPECT_EQ(inputs, op.draw(backward)) << name;
    expect_both(op.reference(problem, inputs), op.reference(forward, inputs),
                op.reference(backward, inputs));
    expect_both(op.second_form(problem, inputs), op.second_form(forward, inputs),
                op.second_form(backward, inputs));
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::bfloat16})
      expect_both(op.baseline(problem, inputs, arithmetic),
                  op.baseline(forward, inputs, arithmetic),
                  op.baseline(backward, inputs, arithmetic));
  }
}

TEST(RecurrenceTraining, HasTheTensorsOfBothPassesOnce) {
  for (const char* name : members) {
    const Operator& op = *find_operator(name);
    const Problem problem = training_problem(name);
    const std::vector<TensorSpec> both = op.tensors(problem);
    for (const Direction direction : {Direction::forward, Direction::backward})
      for (const TensorSpec& spec : op.tensors(in_direction(problem, direction)))
        EXPECT_EQ(std::count_if(both.begin(), both.end(),
                                [&](const TensorSpec& one) {
                                  return one.name == spec.name && one.role == spec.role &&
                                         one.dtype == spec.dtype && one.extents == spec.extents &&
                                         one.rounded_factors == spec.rounded_factors &&
                                         one.decayed_factors == spec.decayed_factors &&
                                         one.longest_sum == spec.longest_sum;
                                }),
                  1)
            << name << " " << spec.name;
    EXPECT_EQ(both.size(), op.tensors(in_direction(problem, Direction::backward)).size() + 3 -
                               (problem.options.empty() ? 1 : 0));  // o, the states that it leaves
  }
}

// The second pass reads the inputs of the first once more, and takes its states.
TEST(RecurrenceTraining, CostsItsTwoPasses) {
  for (const char* name : members) {
    const Operator& op = *find_operator(name);
    const Problem problem = training_problem(name);
    const Problem forward = in_direction(problem, Direction::forward);
    const Work both = op.work(problem), first = op.work(forward);
    const Work second = op.work(in_direction(problem, Direction::backward));
    EXPECT_EQ(both.floor_bytes, first.floor_bytes + second.floor_bytes);
    EXPECT_EQ(both.repeated_bytes, bytes_of(op.tensors(forward), TensorSpec::Role::input));
    EXPECT_EQ(both.least_bytes(), both.floor_bytes - both.repeated_bytes);
    EXPECT_EQ(both.flops, 12.0 * 2 * 37 * 3 * 6 * 5);
    EXPECT_EQ(first.repeated_bytes + second.repeated_bytes, 0);
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
