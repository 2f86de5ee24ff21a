// Every operator's definition against its second form, on problems that are made from what the
// operator says of itself: its extents, regimes, directions and options. A new operator is held to
// this without a test of its own.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/extents.hpp"
#include "core/operator.hpp"
#include "tests/support/distance.hpp"

namespace gla_bench {
namespace {

/// Small, and another number for each role, so that exchanged axes do not go unnoticed.
std::int64_t small(const ExtentAxis& axis) {
  switch (axis.role) {
    case ExtentRole::blocks:
      return axis.extent == &Shape::heads ? 4 : 2;
    case ExtentRole::amount:
      return 19;
    case ExtentRole::dimension:
      return 6;
    case ExtentRole::head_dimension:
      break;
  }
  return axis.extent == &Shape::key_dim ? 5 : 7;
}

/// Shapes with each of the operator's optional extents alone, and without any.
std::vector<Shape> shapes_of(const Operator& op) {
  Shape plain;
  for (const std::string& name : op.extents)
    plain.*extent_axis(name).extent = small(extent_axis(name));
  std::vector<Shape> shapes{plain};
  for (const std::string& name : op.optional_extents) {
    shapes.push_back(plain);
    shapes.back().*extent_axis(name).extent = small(extent_axis(name));
    // Ragged sequences are those of a single batch.
    if (extent_axis(name).extent == &Shape::sequences) shapes.back().batch = 1;
  }
  return shapes;
}

/// One problem with every default, and one for each other value of each option.
std::vector<Problem> options_of(const Operator& op, const Problem& plain) {
  std::vector<Problem> list{plain};
  for (const OptionAxis& axis : op.options)
    for (std::size_t i = 1; i < axis.values.size(); ++i) {
      list.push_back(plain);
      list.back().options[axis.name] = axis.values[i];
    }
  return list;
}

std::vector<Problem> problems_of(const Operator& op, const std::string& gate) {
  std::vector<Problem> list;
  for (const Direction direction : op.directions)
    for (const Shape& shape : shapes_of(op))
      for (const bool initial : {false, true}) {
        Problem problem;
        problem.op = op.name;
        problem.direction = direction;
        problem.shape = shape;
        problem.gate = gate;
        problem.initial_state = initial;
        for (Problem& one : options_of(op, problem))
          if (!op.refuse || !op.refuse(one)) list.push_back(std::move(one));
      }
  return list;
}

/// How far two results lie apart, of the output that is worst; a NaN where one lacks an output.
double furthest(const Operator& op, const Problem& problem, const ReferenceTensors& a,
                const ReferenceTensors& b) {
  double most = 0;
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::output) continue;
    const auto one = a.find(spec.name), other = b.find(spec.name);
    if (one == a.end() || other == b.end() || one->second.size() != other->second.size() ||
        static_cast<std::int64_t>(one->second.size()) != spec.elements())
      return std::nan("");
    most = std::max(most, distance(one->second, other->second));
  }
  return most;
}

class SecondForm : public testing::TestWithParam<std::string> {};

TEST_P(SecondForm, IsTheDefinition) {
  const Operator& op = *find_operator(GetParam());
  // More roundings add up in a gradient.
  const auto bound = [](const Problem& problem) {
    return has_gradients(problem.direction) ? 1e-9 : 1e-12;
  };
  for (const std::string& gate : op.gates) {
    const std::vector<Problem> problems = problems_of(op, gate);
    EXPECT_FALSE(problems.empty()) << op.name << " " << gate << ": every problem is refused";
    for (const Problem& problem : problems) {
      const HostTensors inputs = op.draw(problem);
      ReferenceTensors first = op.reference(problem, inputs);
      const ReferenceTensors second = op.second_form(problem, inputs);
      const double apart = furthest(op, problem, first, second);
      EXPECT_TRUE(apart <= bound(problem)) << describe(problem) << ": " << apart;
      for (const auto& [output, result] : first)
        EXPECT_TRUE(!has_nan(result) || flag(problem, "nan_sequence")) << describe(problem);
      // The comparison can fail: one element that is off by a thousandth is seen.
      std::vector<double>& values = first.begin()->second;
      const auto finite = std::find_if(values.begin(), values.end(),
                                       [](double value) { return std::isfinite(value); });
      if (finite == values.end()) continue;
      *finite += 1e-3 * (1 + std::abs(*finite));
      EXPECT_FALSE(furthest(op, problem, first, second) <= bound(problem)) << describe(problem);
    }
  }
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const Operator& op : operators()) names.push_back(op.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Operators, SecondForm, testing::ValuesIn(operator_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace gla_bench
