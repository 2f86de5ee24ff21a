// The references of attention and decay_attention against an independent form and against central
// differences.

#include <gtest/gtest.h>

#include <cmath>

#include "harness/operator.hpp"

namespace gla_bench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Problem attention(const std::string& op, Shape shape, const std::string& gate,
                  DType dtype = DType::float32) {
  Problem problem;
  problem.op = op;
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = dtype;
  return problem;
}

// B, T, H, K, V, Tk, Hk: fewer, as many and more keys than queries; several blocks; grouped heads.
std::vector<Shape> shapes() {
  return {{1, 1, 1, 1, 1},           {2, 17, 3, 5, 7},        {1, 130, 2, 20, 9, 0, 1},
          {1, 70, 4, 8, 16, 139, 2}, {2, 90, 2, 8, 4, 61, 0}, {1, 3, 2, 16, 16, 200, 1}};
}

double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;  // infinities too
    difference += (a[i] - b[i]) * (a[i] - b[i]);
  }
  for (const double x : b) norm += std::isinf(x) ? 0.0 : x * x;
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

std::vector<Problem> all_problems(Direction direction) {
  std::vector<Problem> list;
  for (const char* name : {"attention", "decay_attention"}) {
    const Operator& op = *find_operator(name);
    const OptionAxis& axis = op.options.front();
    for (const std::string& gate : op.gates)
      for (const Shape& shape : shapes())
        for (const std::string& choice : axis.values)
          for (const DType dtype : {DType::float32, DType::bfloat16}) {
            Problem problem = attention(name, shape, gate, dtype);
            problem.direction = direction;
            if (choice != axis.values.front()) problem.options[axis.name] = choice;
            if (direction == Direction::forward) problem.options["lse"] = "true";
            if (!op.refuse(problem)) list.push_back(problem);
          }
  }
  return list;
}

void expect_two_forms_agree(Direction direction, double bound) {
  for (const Problem& problem : all_problems(direction)) {
    const Operator& op = *find_operator(problem.op);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors a = op.reference(problem, inputs);
    const ReferenceTensors b = op.second_form(problem, inputs);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, values] : a)
      EXPECT_TRUE(relative_difference(values, b.at(name)) <= bound)
          << name << " of " << describe(problem) << ": " << relative_difference(values, b.at(name));
  }
}

TEST(Attention, ForwardEqualsItsDefinition) {
  expect_two_forms_agree(Direction::forward, 1e-12);
}

TEST(Attention, BackwardEqualsItsSecondForm) {
  expect_two_forms_agree(Direction::backward, 1e-9);
}

}  // namespace
}  // namespace gla_bench
