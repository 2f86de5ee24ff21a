// The recurrence on the device against the definition on the host.

#include "harness/cuda/recurrence.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

class GpuRecurrence : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceProbe probe = probe_device(0);
    if (!probe.properties) GTEST_SKIP() << "no CUDA device: " << probe.reason;
    CudaOptions options;
    options.cache_dir = folder_.file("cache");
    compiler_ = std::make_unique<Compiler>(options, nullptr);
    device_ = std::make_unique<Device>(0, *probe.properties, *compiler_);
    op_ = find_operator("gla");
    ASSERT_NE(op_, nullptr);
  }

  static Problem problem(Shape shape, const std::string& gate) {
    Problem p;
    p.op = "gla";
    p.shape = shape;
    p.gate = gate;
    p.dtype = DType::bfloat16;
    p.initial_state = true;
    return p;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Device> device_;
  const Operator* op_ = nullptr;
};

template <class A, class B>
double relative_l2(const std::vector<A>& got, const std::vector<B>& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(static_cast<double>(got.at(i)) - static_cast<double>(expected[i]), 2);
    norm += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(difference / norm);
}

TEST_F(GpuRecurrence, IsTheHostsReferenceInEveryRegime) {
  for (const std::string& gate : op_->gates) {
    const Problem p = problem({2, 67, 3, 100, 72}, gate);
    const HostTensors inputs = op_->draw(p);
    const ReferenceTensors expected = op_->reference(p, inputs);
    const ReferenceTensors got = Recurrence(*device_, *compiler_).reference(*op_, p, inputs);
    for (const auto& [tensor, values] : expected)
      EXPECT_TRUE(relative_l2(got.at(tensor), values) <= 1e-12) << gate << " " << tensor;
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
      const auto got = Recurrence(*device_, *compiler_, memory).reference(*op_, p, inputs);
      for (const auto& [tensor, values] : expected)
        EXPECT_TRUE(relative_l2(got.at(tensor), values) <= 1e-12) << describe(p) << " " << tensor;
    }
  }
}

// Two roundings of one computation differ by about their own error; the errors themselves must be
// alike.
TEST_F(GpuRecurrence, ThePlainComputationErrsAsTheHostsDoes) {
  const Problem p = problem({2, 200, 2, 128, 64}, "mild");
  const HostTensors inputs = op_->draw(p);
  const ReferenceTensors truth = op_->reference(p, inputs);
  for (Arithmetic arithmetic :
       {Arithmetic::float32, Arithmetic::tf32, Arithmetic::float16, Arithmetic::bfloat16}) {
    const HostTensors host = op_->baseline(p, inputs, arithmetic);
    const HostTensors got = Recurrence(*device_, *compiler_).baseline(*op_, p, inputs, arithmetic);
    for (const auto& [tensor, values] : truth) {
      const double ratio =
          relative_l2(got.at(tensor), values) / relative_l2(host.at(tensor), values);
      EXPECT_GT(ratio, 0.5) << name(arithmetic) << " " << tensor;
      EXPECT_LT(ratio, 1.5) << name(arithmetic) << " " << tensor;
    }
  }
}

}  // namespace
}  // namespace gla_bench::cuda
