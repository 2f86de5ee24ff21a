// Attention's references on the device against those on the host.

#include <gtest/gtest.h>

#include <cmath>

#include "harness/backends/cuda/reference/reference_runner.hpp"
#include "tests/harness/backends/cuda/gpu_device.hpp"
#include "tests/harness/backends/cuda/relative_error.hpp"

namespace gla_bench::cuda {
namespace {

class GpuAttention : public GpuDevice {};

// Grouped heads, Tk != T, several blocks and column blocks, every option, both directions.
std::vector<Problem> problems() {
  std::vector<Problem> list;
  const auto add = [&](const char* op, Shape shape, const char* gate, Direction direction,
                       std::map<std::string, std::string> options) {
    Problem problem;
    problem.op = op;
    problem.shape = shape;
    problem.gate = gate;
    problem.direction = direction;
    problem.dtype = DType::bfloat16;
    problem.options = std::move(options);
    list.push_back(std::move(problem));
  };
  const Direction forward = Direction::forward, backward = Direction::backward;
  add("attention", {1, 170, 4, 20, 9, 0, 2}, "peaked", forward, {{"lse", "true"}});
  add("attention", {2, 9, 2, 5, 140, 275, 0}, "shifted", forward, {{"causal", "false"}});
  add("decay_attention", {1, 80, 1, 64, 64, 67, 0}, "resets", forward, {{"lse", "true"}});
  add("decay_attention", {1, 170, 2, 20, 9, 200, 1}, "typical", backward, {});
  add("decay_attention", {1, 130, 2, 20, 9, 0, 0}, "resets", backward, {});
  add("decay_attention", {2, 90, 3, 140, 9, 33, 0}, "mild", backward, {{"decay", "constant"}});
  add("attention", {1, 33, 2, 7, 130, 170, 1}, "normal", backward, {{"causal", "false"}});
  return list;
}

TEST_F(GpuAttention, IsTheHostsReference) {
  for (const Problem& problem : problems()) {
    const Operator& op = *find_operator(problem.op);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors expected = op.reference(problem, inputs);
    const ReferenceTensors got =
        ReferenceRunner(*device_, *compiler_).reference(op, problem, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (const auto& [tensor, values] : expected)
      EXPECT_TRUE(relative_l2(got.at(tensor), values) <= 1e-12)
          << describe(problem) << " " << tensor;
  }
}

TEST_F(GpuAttention, PlainComputationErrsLikeTheHosts) {
  for (const Problem& problem : problems())
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::bfloat16}) {
      const Operator& op = *find_operator(problem.op);
      const HostTensors inputs = op.draw(problem);
      const ReferenceTensors truth = op.reference(problem, inputs);
      const HostTensors host = op.baseline(problem, inputs, arithmetic);
      const HostTensors got =
          ReferenceRunner(*device_, *compiler_).baseline(op, problem, inputs, arithmetic);
      for (const auto& [tensor, values] : truth) {
        const double error = relative_l2(got.at(tensor), values);
        const double host_error = relative_l2(host.at(tensor), values);
        EXPECT_TRUE(error <= 3 * host_error + 1e-7 && host_error <= 3 * error + 1e-7)
            << describe(problem) << " " << tensor << ": " << error << ", " << host_error;
      }
    }
}

TEST(DeviceReference, KnowsItsOperatorsAndItsMemory) {
  Problem problem;
  problem.op = "attention";
  problem.shape = {1, 128, 2, 64, 64};
  const Operator& op = *find_operator("attention");
  EXPECT_TRUE(has_device_reference(op, problem, std::nullopt));
  EXPECT_FALSE(has_device_reference(op, problem, std::nullopt, {1e3, 8e9}));
  problem.op = "gla";
  EXPECT_TRUE(has_device_reference(*find_operator("gla"), problem, Arithmetic::tf32, {1e3, 1e3}));
  problem.op = "softmax";
  EXPECT_FALSE(has_device_reference(*find_operator("softmax"), problem, std::nullopt));
}

}  // namespace
}  // namespace gla_bench::cuda
