#pragma once
// What holds of every operator that has training: it is its two passes, with one set of inputs.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/operator.hpp"

namespace gla_bench {

inline double bytes_of(const std::vector<TensorSpec>& tensors, TensorSpec::Role role) {
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

/// The definition, the second form and the plain computation of training, against those of its
/// passes. The forward is that of the inputs of training.
inline void expect_outputs_of_both_passes(const Problem& training) {
  const Operator& op = *find_operator(training.op);
  const Problem forward = in_direction(training, Direction::forward);
  const Problem backward = in_direction(training, Direction::backward);
  const HostTensors inputs = op.draw(training);
  EXPECT_EQ(inputs, op.draw(backward)) << training.op;
  expect_both(op.reference(training, inputs), op.reference(forward, inputs),
              op.reference(backward, inputs));
  expect_both(op.second_form(training, inputs), op.second_form(forward, inputs),
              op.second_form(backward, inputs));
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::bfloat16})
    expect_both(op.baseline(training, inputs, arithmetic), op.baseline(forward, inputs, arithmetic),
                op.baseline(backward, inputs, arithmetic));
}

/// Each tensor of a pass is there once, as it is there; besides them there are no others.
inline void expect_tensors_of_both_passes(const Problem& training) {
  const Operator& op = *find_operator(training.op);
  const std::vector<TensorSpec> both = op.tensors(training);
  std::size_t outputs = 0;
  for (const Direction direction : {Direction::forward, Direction::backward})
    for (const TensorSpec& spec : op.tensors(in_direction(training, direction))) {
      const bool of_forward = direction == Direction::forward;
      outputs += of_forward && spec.role == TensorSpec::Role::output ? 1 : 0;
      EXPECT_EQ(std::count_if(both.begin(), both.end(),
                              [&](const TensorSpec& one) {
                                return one.name == spec.name && one.role == spec.role &&
                                       one.dtype == spec.dtype && one.extents == spec.extents &&
                                       one.rounded_factors == spec.rounded_factors &&
                                       one.decayed_factors == spec.decayed_factors &&
                                       one.longest_sum == spec.longest_sum;
                              }),
                1)
          << training.op << " " << spec.name;
    }
  EXPECT_EQ(both.size(), op.tensors(in_direction(training, Direction::backward)).size() + outputs);
}

/// The second pass reads the inputs of the first once more.
inline void expect_floor_of_both_passes(const Problem& training) {
  const Operator& op = *find_operator(training.op);
  const Problem forward = in_direction(training, Direction::forward);
  const Work both = op.work(training), first = op.work(forward);
  const Work second = op.work(in_direction(training, Direction::backward));
  EXPECT_EQ(both.floor_bytes, first.floor_bytes + second.floor_bytes);
  EXPECT_EQ(both.repeated_bytes, bytes_of(op.tensors(forward), TensorSpec::Role::input));
  EXPECT_EQ(both.least_bytes(), both.floor_bytes - both.repeated_bytes);
  EXPECT_EQ(first.repeated_bytes + second.repeated_bytes, 0);
}

}  // namespace gla_bench
