#pragma once
// Training as its two passes: an operator's definitions and its floor follow from those of its
// forward and its backward.

#include "core/operator.hpp"

namespace gla_bench {

/// The outputs of the problem's direction, from those of its passes. forward(problem) and
/// backward(problem) are called with the problem in their own direction.
template <class Forward, class Backward>
auto outputs_of_passes(const Problem& problem, Forward forward, Backward backward) {
  decltype(forward(problem)) outputs;
  if (problem.direction != Direction::backward)
    outputs = forward(in_direction(problem, Direction::forward));
  if (has_gradients(problem.direction))
    outputs.merge(backward(in_direction(problem, Direction::backward)));
  return outputs;
}

/// The work of a step of training, whose tensors are `training`. The second pass reads the inputs
/// of the first once more. The operations are the sum of both: what the forward leaves and the
/// backward need not form again is the operator's to take off.
inline Work work_of_passes(const Work& forward, const Work& backward,
                           const std::vector<TensorSpec>& training) {
  Work both;
  both.floor_bytes = forward.floor_bytes + backward.floor_bytes;
  both.repeated_bytes = both.floor_bytes;
  for (const TensorSpec& spec : training) both.repeated_bytes -= static_cast<double>(spec.bytes());
  both.flops = forward.flops + backward.flops;
  return both;
}

}  // namespace gla_bench
