#include "reference/gla_layer/gla_layer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "harness/verify/verify.hpp"
#include "reference/round_outputs.hpp"

namespace gla_bench {
namespace {

Problem layer(const Shape& shape, DType dtype = DType::float32) {
  Problem problem;
  problem.op = "gla_layer";
  problem.dtype = dtype;
  problem.shape = shape;
  return problem;
}

Shape shape(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t key_dim,
            std::int64_t value_dim, std::int64_t model_dim) {
  Shape s{batch, seq, heads, key_dim, value_dim};
  s.model_dim = model_dim;
  return s;
}

double relative(const std::vector<double>& got, const std::vector<double>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

TEST(GlaLayer, BothFormsAgree) {
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const char* divisor : {"16", "1"}) {
        Problem problem = layer(shape(2, 13, 3, 6, 10, 20), dtype);
        problem.gate = gate;
        problem.initial_state = true;
        if (divisor[1] == 0) problem.options["gate_divisor"] = divisor;
        const HostTensors inputs = op.draw(problem);
        const ReferenceTensors first = op.reference(problem, inputs);
        const ReferenceTensors second = op.second_form(problem, inputs);
        for (const char* output : {"y", "final_state"})
          EXPECT_TRUE(relative(second.at(output), first.at(output)) <= 1e-12)
              << output << " of " << describe(problem);
      }
}

// One token, one head, one model dimension: everything by hand.
TEST(GlaLayer, ByHand) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer(shape(1, 1, 1, 1, 2, 1));
  problem.initial_state = true;
  HostTensors inputs;
  inputs["x"] = {2};
  inputs["w_q"] = {3};               // q = 6
  inputs["w_k"] = {0.5};             // k = 1
  inputs["w_v"] = {1, -1};           // v = 2, -2
  inputs["w_1"].assign(16, 0.5f);    // low = 1 in each of 16
  inputs["w_2"].assign(16, 0.125f);  // sum 2
  inputs["b_g"] = {-1};              // z = 1
  inputs["w_r"] = {1, 0.5};          // r = 2, 1
  inputs["b_r"] = {-1, 0};           // 1, 1
  inputs["w_o"] = {3, 5};
  inputs["initial_state"] = {4, 8};
  const ReferenceTensors outputs = op.reference(problem, inputs);
  const double gate = static_cast<double>(static_cast<float>(-std::log(1 + std::exp(-1.0)) / 16));
  const double s0 = std::exp(gate) * 4 + 2, s1 = std::exp(gate) * 8 - 2;
  EXPECT_NEAR(outputs.at("final_state")[0], s0, 1e-12);
  EXPECT_NEAR(outputs.at("final_state")[1], s1, 1e-12);
  const double spread = 3 * (s0 - s1);  // o = 6 s; half their difference
  const double normed = spread / std::sqrt(spread * spread + 1e-5);
  const double swish = 1 / (1 + std::exp(-1.0));
  ASSERT_EQ(outputs.at("y").size(), 1u);
  EXPECT_NEAR(outputs.at("y")[0], swish * normed * 3 - swish * normed * 5, 1e-12);
}

TEST(GlaLayer, TheDivisorIsAnOption) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer(shape(1, 1, 1, 1, 1, 1));
  problem.initial_state = true;
  HostTensors inputs = op.draw(problem);
  inputs["w_k"] = {0};
  inputs["w_2"].assign(16, 0);
  inputs["b_g"] = {0};
  inputs["initial_state"] = {1};
  const double half = std::log(0.5);
  EXPECT_NEAR(op.reference(problem, inputs).at("final_state")[0],
              std::exp(static_cast<double>(static_cast<float>(half / 16))), 1e-12);
  problem.options["gate_divisor"] = "1";
  EXPECT_NEAR(op.reference(problem, inputs).at("final_state")[0],
              std::exp(static_cast<double>(static_cast<float>(half))), 1e-12);
}

TEST(GlaLayer, StageTensorsAreRoundedToTheDtype) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer(shape(1, 1, 1, 1, 1, 2), DType::bfloat16);
  HostTensors inputs = op.draw(problem);
  inputs["x"] = {1, 1};
  inputs["w_k"] = {1, 0x1p-9f};  // 1 + 2^-9 rounds to 1
  inputs["w_v"] = {1, 0x1p-7f};  // 1 + 2^-7 is a bfloat16
  EXPECT_EQ(op.reference(problem, inputs).at("final_state")[0], 1 + 0x1p-7);
}

TEST(GlaLayer, RegimesReachTheirGates) {
  const Operator& op = *find_operator("gla_layer");
  // k = 0: the final state is the product of the decays.
  const auto decay_of = [&](const std::string& gate) {
    Problem problem = layer(shape(1, 1, 8, 32, 1, 8));
    problem.gate = gate;
    problem.initial_state = true;
    HostTensors inputs = op.draw(problem);
    std::fill(inputs["w_k"].begin(), inputs["w_k"].end(), 0.0f);
    std::fill(inputs["initial_state"].begin(), inputs["initial_state"].end(), 1.0f);
    return op.reference(problem, inputs).at("final_state");
  };
  for (const double decay : decay_of("none")) EXPECT_EQ(decay, 1.0);
  for (const double decay : decay_of("strong")) {
    EXPECT_GT(decay, std::exp(-2.5));
    EXPECT_LT(decay, std::exp(-1.5));
  }
  const std::vector<double> mild = decay_of("mild"), mixed = decay_of("per_channel");
  EXPECT_GT(*std::min_element(mild.begin(), mild.end()), 0.7);
  const auto share = [&](auto holds) {
    return static_cast<double>(std::count_if(mixed.begin(), mixed.end(), holds)) / 256;
  };
  EXPECT_NEAR(share([](double x) { return x == 1.0; }), 0.25, 0.1);
  EXPECT_NEAR(share([](double x) { return x < 0.01; }), 0.25, 0.1);
  Problem unknown = layer(shape(1, 1, 1, 1, 1, 1));
  unknown.gate = "spikes";
  EXPECT_THROW(op.draw(unknown), InputError);
}

// What a right computation is off by, in each dtype, stays below the caps with room for gla's own
// error: the reason for the rounded stage tensors.
TEST(GlaLayer, ThePlainComputationIsWithinTheCaps) {
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const auto& [dtype, arithmetic] : {std::pair{DType::float32, Arithmetic::float32},
                                            std::pair{DType::float32, Arithmetic::tf32},
                                            std::pair{DType::bfloat16, Arithmetic::bfloat16},
                                            std::pair{DType::float16, Arithmetic::float16}}) {
      Problem problem = layer(shape(1, 100, 2, 32, 64, 128), dtype);
      problem.gate = gate;
      ProblemTruth truth(op, problem, op.draw(problem));
      HostTensors plain = op.baseline(problem, truth.inputs(), arithmetic);
      round_outputs(op.tensors(problem), plain);
      const Verification result = judge(truth, plain, arithmetic, default_tolerance());
      EXPECT_TRUE(result.ok) << describe(problem) << ": " << result.fault;
      EXPECT_GT(result.tensors.at("y").rel_l2, 0) << "nothing was rounded";
    }
}

TEST(GlaLayer, SaysWhatItsTensorsAre) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer(shape(2, 5, 3, 4, 6, 7), DType::bfloat16);
  problem.initial_state = true;
  std::map<std::string, std::vector<std::int64_t>> extents;
  double bytes = 0;
  for (const TensorSpec& spec : op.tensors(problem)) {
    extents[spec.name] = spec.extents;
    bytes += static_cast<double>(spec.bytes());
  }
  EXPECT_EQ(extents.at("x"), (std::vector<std::int64_t>{2, 5, 7}));
  EXPECT_EQ(extents.at("w_q"), (std::vector<std::int64_t>{7, 12}));
  EXPECT_EQ(extents.at("w_2"), (std::vector<std::int64_t>{16, 12}));
  EXPECT_EQ(extents.at("w_o"), (std::vector<std::int64_t>{18, 7}));
  EXPECT_EQ(extents.at("y"), (std::vector<std::int64_t>{2, 5, 7}));
  EXPECT_EQ(extents.at("final_state"), (std::vector<std::int64_t>{2, 3, 4, 6}));
  EXPECT_EQ(op.work(problem).floor_bytes, bytes);
  // 10 tokens; products with 7x12 twice, 7x18 twice, 7x16, 16x12, 18x7; 2KV for each of 3 heads.
  EXPECT_EQ(op.work(problem).flops, 2.0 * 10 * (2 * 84 + 2 * 126 + 112 + 192 + 126 + 2 * 3 * 24));
  problem.layout = Layout::head_first;
  EXPECT_TRUE(op.refuse(problem));
}

}  // namespace
}  // namespace gla_bench
