// The recurrence on the device against the definition on the host.

#include "harness/backends/cuda/reference/reference_runner.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/backends/cuda/gpu_device.hpp"
#include "tests/harness/backends/cuda/relative_error.hpp"

namespace gla_bench::cuda {
namespace {

constexpr const char* members[] = {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"};

class GpuRecurrence : public GpuDevice {
 protected:
  static Problem problem(Shape shape, const std::string& gate) {
    Problem p;
    p.op = "gla";
    p.shape = shape;
    p.gate = gate;
    p.dtype = DType::bfloat16;
    p.initial_state = true;
    return p;
  }

  // The device's float64 against the host's, with so much memory for it.
  void expect_the_hosts(const Problem& p, double bound, double memory = 8e9) {
    const Operator& op = *find_operator(p.op);
    const HostTensors inputs = op.draw(p);
    const ReferenceTensors expected = op.reference(p, inputs);
    const auto got = ReferenceRunner(*device_, *compiler_, {48e9, memory}).reference(op, p, inputs);
    expect_near(expected, got, bound, describe(p));
  }

  const Operator* op_ = find_operator("gla");
};

TEST_F(GpuRecurrence, IsTheHostsReferenceInEveryRegime) {
  for (const char* name : members)
    for (const std::string& gate : find_operator(name)->gates) {
      Problem p = problem({2, 67, 3, 100, 72}, gate);
      p.op = name;
      expect_the_hosts(p, 1e-12);
    }
}

TEST_F(GpuRecurrence, KnowsEveryOption) {
  for (const char* name : members) {
    const Operator& op = *find_operator(name);
    for (const OptionAxis& first : op.options)
      for (const std::string& choice : first.values)
        for (const OptionAxis& second : op.options)
          for (const std::int64_t sequences : {0, 7}) {
            Problem p = problem({1, 50, 2, 37, 40}, op.gates.back());
            p.op = name;
            if (p.gate == "per_channel") p.gate = "strong";  // has no raw gates
            p.shape.sequences = sequences;
            p.options = {{first.name, choice}};
            if (second.name != first.name) p.options[second.name] = second.values.back();
            if (!op.refuse(p)) expect_the_hosts(p, 1e-12);
          }
  }
}

TEST_F(GpuRecurrence, ItsGradientsAreTheHostsInEveryRegime) {
  for (const char* name : members)
    for (const std::string& gate : find_operator(name)->gates) {
      Problem p = problem({2, 150, 3, 100, 72}, gate);
      p.op = name;
      p.direction = Direction::training;
      expect_the_hosts(p, 1e-11);
    }
}

TEST_F(GpuRecurrence, GoesThroughTheBatchInPartsForEveryMember) {
  for (const char* name : members) {
    Problem p = problem({3, 20, 3, 33, 31}, "mild");
    p.op = name;
    if (p.op == "linear_attention") p.options = {{"normalize", "true"}};
    expect_the_hosts(p, 1e-12, 1.0);
  }
}

TEST_F(GpuRecurrence, CoversEveryKindOfExtent) {
  for (const Shape& shape : std::vector<Shape>{{1, 1, 1, 1, 1},
                                               {1, 17, 2, 33, 31},
                                               {3, 5, 1, 512, 65},
                                               {2, 40, 2, 64, 512},
                                               {1, 9, 5, 257, 100}}) {
    const Problem p = problem(shape, "typical");
    const HostTensors inputs = op_->draw(p);
    const ReferenceTensors expected = op_->reference(p, inputs);
    // Once whole, once with memory for a single row of the batch.
    for (double memory : {8e9, 1.0}) {
      const auto got =
          ReferenceRunner(*device_, *compiler_, {48e9, memory}).reference(*op_, p, inputs);
      for (const auto& [tensor, values] : expected)
        EXPECT_TRUE(relative_l2(got.at(tensor), values) <= 1e-12) << describe(p) << " " << tensor;
    }
  }
}

TEST_F(GpuRecurrence, ThePlainComputationErrsAsTheHostsDoes) {
  for (const char* member : members) {
    const Operator& op = *find_operator(member);
    Problem p = problem({2, 200, 2, 128, 64}, "mild");
    p.op = member;
    if (p.op == "linear_attention")
      p.options = {{"normalize", "true"}, {"feature_map", "elu_plus_one"}};
    const HostTensors inputs = op.draw(p);
    const ReferenceTensors truth = op.reference(p, inputs);
    for (Arithmetic arithmetic :
         {Arithmetic::float32, Arithmetic::tf32, Arithmetic::float16, Arithmetic::bfloat16}) {
      const HostTensors host = op.baseline(p, inputs, arithmetic);
      const auto got = ReferenceRunner(*device_, *compiler_).baseline(op, p, inputs, arithmetic);
      // Errors of float32 sums depend on their order, those of rounded operands do not.
      const bool rounded = arithmetic != Arithmetic::float32;
      expect_errors_alike(truth, host, got, rounded ? 0.5 : 0.2, rounded ? 1.5 : 2.0,
                          std::string(member) + " " + std::string(name(arithmetic)));
    }
  }
}

}  // namespace
}  // namespace gla_bench::cuda
