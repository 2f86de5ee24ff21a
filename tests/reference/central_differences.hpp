#pragma once
// Gradients by differences of the forward, which a backward is held to.

#include <cmath>
#include <string>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench {

/// The outputs of the forward, each weighted with its gradient among the inputs, with one element
/// of an input moved. References take inputs as float32, so the step is one between two of those.
inline double weighted_outputs(const Problem& problem, const HostTensors& inputs,
                               const std::string& input, std::size_t at, double step) {
  HostTensors moved = inputs;
  float& value = moved.at(input)[at];
  value = static_cast<float>(value + step);
  Problem forward = problem;
  forward.direction = Direction::forward;
  double sum = 0;
  for (const auto& [output, values] : find_operator(problem.op)->reference(forward, moved))
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * inputs.at("d" + output)[i];
  return sum;
}

/// (f(x + h) - f(x - h)) / 2h, h as the float32 inputs really move, with the h^2 term removed by a
/// second difference at 2h.
inline double central_difference(const Problem& problem, const HostTensors& inputs,
                                 const std::string& input, std::size_t at) {
  const float x = inputs.at(input)[at];
  const auto quotient = [&](double h) {
    const float up = static_cast<float>(x + h), down = static_cast<float>(x - h);
    return (weighted_outputs(problem, inputs, input, at, h) -
            weighted_outputs(problem, inputs, input, at, -h)) /
           (static_cast<double>(up) - static_cast<double>(down));
  };
  const double h = 0x1p-9;
  return (4 * quotient(h) - quotient(2 * h)) / 3;
}

/// The gradient of a whole input. That of a decay of -inf is zero.
inline std::vector<double> central_differences(const Problem& problem, const HostTensors& inputs,
                                               const std::string& input) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < inputs.at(input).size(); ++i) {
    const bool reset = std::isinf(inputs.at(input)[i]);
    differences.push_back(reset ? 0.0 : central_difference(problem, inputs, input, i));
  }
  return differences;
}

}  // namespace gla_bench
