// Training of the layer is its two passes, with one set of inputs.

#include <gtest/gtest.h>

#include "harness/verify/verify.hpp"
#include "reference/round_outputs.hpp"
#include "tests/reference/training_passes.hpp"

namespace gla_bench {
namespace {

Problem layer_training(const Shape& shape, std::int64_t model_dim, DType dtype = DType::float32) {
  Problem problem;
  problem.op = "gla_layer";
  problem.direction = Direction::training;
  problem.dtype = dtype;
  problem.shape = shape;
  problem.shape.model_dim = model_dim;
  problem.initial_state = true;
  return problem;
}

TEST(GlaLayerTraining, IsItsTwoPasses) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const Problem problem = layer_training({2, 13, 3, 6, 10}, 20, dtype);
    expect_outputs_of_both_passes(problem);
    expect_tensors_of_both_passes(problem);
    expect_floor_of_both_passes(problem);
  }
}

// 10 tokens. The products of x and of W_2 three times, those with W_O three times, and gla's step
// of 12 KV each token and head.
TEST(GlaLayerTraining, FormsNothingOnceMore) {
  const Operator& op = *find_operator("gla_layer");
  EXPECT_EQ(op.work(layer_training({2, 5, 3, 4, 6}, 7)).flops,
            2.0 * 10 * (3 * (2 * 84 + 2 * 126 + 112 + 192) + 3 * 126) + 12.0 * 10 * 3 * 24);
}

TEST(GlaLayerTraining, RefusesWhatTheBackwardRefuses) {
  const Operator& op = *find_operator("gla_layer");
  Problem problem = layer_training({2, 5, 3, 4, 3}, 7);
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.shape.value_dim = 2;
  EXPECT_EQ(op.refuse(problem), op.refuse(in_direction(problem, Direction::backward)));
  EXPECT_NE(op.refuse(problem), std::nullopt);
}

/// The forward's outputs, too, where gates are drawn for gradients.
TEST(GlaLayerTraining, ThePlainComputationIsWithinTheCaps) {
  const Operator& op = *find_operator("gla_layer");
  for (const std::string& gate : op.gates)
    for (const auto& [dtype, arithmetic] : {std::pair{DType::float32, Arithmetic::tf32},
                                            std::pair{DType::bfloat16, Arithmetic::bfloat16},
                                            std::pair{DType::float16, Arithmetic::float16}}) {
      Problem problem = layer_training({1, 100, 2, 32, 64}, 128, dtype);
      problem.gate = gate;
      ProblemTruth truth(op, problem, op.draw(problem));
      HostTensors plain = op.baseline(problem, truth.inputs(), arithmetic);
      round_outputs(op.tensors(problem), plain);
      const Verification result = judge(truth, plain, arithmetic, default_tolerance());
      EXPECT_TRUE(result.ok) << describe(problem) << ": " << result.fault;
      EXPECT_EQ(result.tensors.size(), 2u + 11) << "y, the final state and the gradients";
    }
}

}  // namespace
}  // namespace gla_bench
