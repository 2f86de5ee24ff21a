// Signs flipped where the inputs lie on the device, against the host's.

#include "harness/backends/other_inputs.hpp"
#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

class GpuOtherInputs : public GpuFixture {};

TEST_F(GpuOtherInputs, AreTheHostsAndTwiceIsNothing) {
  const Variant twice = variant("twice");
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    problem_.dtype = dtype;
    HostTensors given = inputs();
    given["x"][3] = -std::numeric_limits<float>::infinity();
    const auto workset = backend_->stage(op_, problem_, given);
    const auto plan = backend_->build({&twice, problem_, {}});
    plan->prepare(*workset);
    const auto outputs = [&] {
      workset->poison_outputs();
      plan->run();
      return workset->download_outputs().at("y");
    };
    const std::vector<float> before = outputs();
    ASSERT_TRUE(workset->flip_signs(verified_pattern));
    std::vector<float> expected = flipped(op_, problem_, given, verified_pattern).at("x");
    for (float& value : expected) value *= 2;
    EXPECT_EQ(outputs(), expected);
    ASSERT_TRUE(workset->flip_signs(verified_pattern));
    EXPECT_EQ(outputs(), before);
    EXPECT_EQ(workset->damage(), std::nullopt);
  }
}

}  // namespace
}  // namespace gla_bench::cuda
