// Gradients of the layer against another form, against differences of the forward, and by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/verify/verify.hpp"
#include "reference/gla_layer/gla_layer.hpp"
#include "reference/round_outputs.hpp"
#include "tests/reference/central_differences.hpp"
#include "tests/support/distance.hpp"

namespace gla_bench {
namespace {

Problem layer_backward(const Shape& shape, std::int64_t model_dim, DType dtype = DType::float32) {
  Problem problem;
  problem.op = "gla_layer";
  problem.direction = Direction::backward;
  problem.dtype = dtype;
  problem.shape = shape;
  problem.shape.model_dim = model_dim;
  return problem;
}

TEST(GlaLayerBackward, BothFormsAgree) {
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const bool states : {true, false}) {
        Problem problem = layer_backward({2, 13, 3, 6, 10}, 20, dtype);
        problem.gate = gate;
        problem.initial_state = problem.final_state = states;
        if (states) problem.options["gate_divisor"] = "1";
        const HostTensors inputs = op.draw(problem);
        const ReferenceTensors first = op.reference(problem, inputs);
        const ReferenceTensors second = op.second_form(problem, inputs);
        ASSERT_EQ(first.size(), states ? 11u : 10u);
        for (const auto& [name, values] : first)
          EXPECT_LE(distance(second.at(name), values), 1e-11) << name << " " << describe(problem);
      }
}

/// The forward rounds what lies between its stages to float32, so that differences are exact to
/// about 1e-4 of the largest.
TEST(GlaLayerBackward, GradientsAreDifferencesOfTheForward) {
  const Operator& op = *find_operator("gla_layer");
  for (const char* gate : {"mild", "strong", "none"}) {
    Problem problem = layer_backward({1, 6, 2, 3, 6}, 5);
    problem.gate = gate;
    problem.initial_state = true;
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors gradients = op.reference(problem, inputs);
    for (const auto& [name, values] : gradients) {
      const std::vector<double> differences = central_differences(problem, inputs, name.substr(1));
      const bool of_gates = name == "dw_1" || name == "dw_2" || name == "db_g";
      if (of_gates && problem.gate == "none") continue;  // 3e-4 of the others
      EXPECT_LE(distance(differences, values), 2e-3) << name << " " << gate;
    }
    HostTensors others = inputs;
    others.at("dy")[0] += 0.1f;
    EXPECT_GT(distance(op.reference(problem, others).at("dx"), gradients.at("dx")), 1e-3);
  }
}

/// One token that sees nothing but itself, one key: everything but the gate by hand.
TEST(GlaLayerBackward, ByHand) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer_backward({1, 1, 1, 1, 4}, 1);
  problem.final_state = false;
  HostTensors inputs;
  inputs["x"] = {1};
  inputs["w_q"] = {2};
  inputs["w_k"] = {1};
  inputs["w_v"] = {1, -1, 1, -1};  // o = 2 v: mean 0, variance 4
  inputs["w_1"].assign(16, 0.0f);
  inputs["w_2"].assign(16, 0.0f);
  inputs["b_g"] = {0};
  inputs["w_r"].assign(4, 0.0f);
  inputs["b_r"].assign(4, 0.0f);  // swish 0, its slope 1/2
  inputs["w_o"] = {1, 2, 3, 4};
  inputs["dy"] = {8};
  const ReferenceTensors gradients = op.reference(problem, inputs);
  const double normed = 2 / std::sqrt(4 + gla_layer_epsilon);
  for (const int i : {0, 1, 2, 3}) {
    const double expected = 8 * (i + 1) / 2.0 * normed * (i % 2 == 0 ? 1 : -1);
    EXPECT_NEAR(gradients.at("db_r")[i], expected, 1e-12);
    EXPECT_NEAR(gradients.at("dw_r")[i], expected, 1e-12);
    EXPECT_EQ(gradients.at("dw_v")[i], 0);  // a closed output gate
    EXPECT_EQ(gradients.at("dw_o")[i], 0);
  }
  EXPECT_EQ(gradients.at("dx")[0], 0);
  EXPECT_EQ(gradients.at("db_g")[0], 0);
}

/// What a right computation is off by stays below the caps, with room for gla's own error.
TEST(GlaLayerBackward, ThePlainComputationIsWithinTheCaps) {
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const char* divisor : {"16", "1"})
      for (const auto& [dtype, arithmetic] : {std::pair{DType::float32, Arithmetic::float32},
                                              std::pair{DType::float32, Arithmetic::tf32},
                                              std::pair{DType::bfloat16, Arithmetic::bfloat16},
                                              std::pair{DType::float16, Arithmetic::float16}}) {
        Problem problem = layer_backward({1, 100, 2, 32, 64}, 128, dtype);
        problem.gate = gate;
        if (divisor[1] == 0) problem.options["gate_divisor"] = divisor;
        ProblemTruth truth(op, problem, op.draw(problem));
        HostTensors plain = op.baseline(problem, truth.inputs(), arithmetic);
        round_outputs(op.tensors(problem), plain);
        const Verification result = judge(truth, plain, arithmetic, default_tolerance());
        EXPECT_TRUE(result.ok) << describe(problem) << ": " << result.fault;
        for (const auto& [name, errors] : result.tensors)
          EXPECT_GT(errors.rel_l2, 0) << name << ": nothing was rounded";
      }
}

TEST(GlaLayerBackward, SaysWhatItsTensorsAre) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer_backward({2, 5, 3, 4, 6}, 7, DType::bfloat16);
  problem.initial_state = true;
  std::map<std::string, TensorSpec> tensors;
  double bytes = 0;
  for (const TensorSpec& spec : op.tensors(problem)) {
    tensors[spec.name] = spec;
    bytes += static_cast<double>(spec.bytes());
  }
  EXPECT_EQ(tensors.size(), 11u + 2 + 11);  // inputs, dy and dfinal_state, gradients
  EXPECT_EQ(tensors.at("dy").role, TensorSpec::Role::input);
  EXPECT_EQ(tensors.at("dy").dtype, DType::bfloat16);
  EXPECT_EQ(tensors.at("dx").dtype, DType::bfloat16);
  EXPECT_EQ(tensors.at("dw_q").dtype, DType::float32);
  EXPECT_EQ(tensors.at("dw_q").extents, tensors.at("w_q").extents);
  EXPECT_EQ(op.work(problem).floor_bytes, bytes);
  // 10 tokens; the products of x and of W_2 three times, those with W_O twice, o once.
  Problem inner = problem;
  inner.op = "gla";
  inner.shape.model_dim = 0;
  EXPECT_EQ(op.work(problem).flops,
            2.0 * 10 * (3 * (2 * 84 + 2 * 126 + 112 + 192) + 2 * 126 + 3 * 24) +
                find_operator("gla")->work(inner).flops);
  EXPECT_EQ(op.signed_inputs(problem),
            (std::vector<std::string>{"x", "initial_state", "dy", "dfinal_state"}));
  EXPECT_FALSE(op.refuse(problem));
  problem.shape.value_dim = 2;
  EXPECT_TRUE(op.refuse(problem));
  problem.direction = Direction::forward;
  EXPECT_FALSE(op.refuse(problem));
}

/// A slope of the logsigmoid that float32 holds, in every regime and with both divisors.
TEST(GlaLayerBackward, RegimesLeaveGradientsOfGates) {
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const char* divisor : {"16", "1"}) {
      Problem problem = layer_backward({1, 50, 2, 16, 32}, 64);
      problem.gate = gate;
      if (divisor[1] == 0) problem.options["gate_divisor"] = divisor;
      const ReferenceTensors gradients = op.reference(problem, op.draw(problem));
      double most = 0;
      for (const double x : gradients.at("db_g")) most = std::max(most, std::abs(x));
      EXPECT_GT(most, 1e-6) << gate << divisor;
    }
}

}  // namespace
}  // namespace gla_bench
