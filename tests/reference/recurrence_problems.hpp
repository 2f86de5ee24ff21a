#pragma once
// What the tests of the linear recurrences' references share.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench {

inline Problem gla(Shape shape, const std::string& gate, DType dtype = DType::float32) {
  Problem problem;
  problem.op = "gla";
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = dtype;
  return problem;
}

inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace gla_bench
