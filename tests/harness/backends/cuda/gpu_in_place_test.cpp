// Outputs in place of an input on the device: y = 2 x where x stood.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

class GpuInPlace : public GpuFixture {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    op_.tensors = [separate = op_.tensors](const Problem& p) {
      std::vector<TensorSpec> specs = separate(p);
      specs[1].in_place_of = "x";
      return specs;
    };
  }

  // With `blocks` not 0 that many are launched, whatever the size.
  void stage(const std::string& entry, unsigned blocks = 0) {
    variant_ = variant(entry);
    if (blocks > 0)
      variant_.code = [=](const Problem&, const Tile&) {
        return Recipe{"map.cuh", {}, {KernelLaunch{entry, {blocks, 1, 1}, {128, 1, 1}, 0}}};
      };
    workset_ = backend_->stage(op_, problem_, inputs());
    plan_ = backend_->build({&variant_, problem_, {}});
    plan_->prepare(*workset_);
  }

  void expect_times(float factor) {
    const std::vector<float> x = inputs().at("x"), y = workset_->download_outputs().at("y");
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], factor * x[i]) << i;
  }

  Variant variant_;
  std::unique_ptr<Workset> workset_;
  std::unique_ptr<Plan> plan_;
};

TEST_F(GpuInPlace, RunsUpdateAndPoisoningRestores) {
  for (const DType dtype : {DType::float32, DType::bfloat16})
    for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
      problem_.dtype = dtype;
      problem_.layout = layout;
      stage("twice");
      expect_times(1);
      plan_->run();
      expect_times(2);
      plan_->run();
      expect_times(4);
      EXPECT_EQ(workset_->damage(), std::nullopt) << "an updated input is no damage";
      workset_->poison_outputs();
      expect_times(1);
    }
}

TEST_F(GpuInPlace, GuardZonesCount) {
  problem_.dtype = DType::bfloat16;
  stage("behind");
  plan_->run();
  EXPECT_EQ(workset_->damage(), "guard zone behind 'x' overwritten at byte 6");
}

TEST_F(GpuInPlace, EveryTimedCallStartsFromTheOriginal) {
  stage("twice");
  for (const CacheState cache : {CacheState::cold, CacheState::hot})
    for (const int calls : {1, 3}) {
      EXPECT_GT(plan_->sample(cache, calls), 0);
      expect_times(2);
    }
}

TEST_F(GpuInPlace, RestoringIsNotTimed) {
  problem_.shape = {1, 16384, 64, 128, 1};  // 512 MiB, whose copy takes as long as the kernel
  stage("takes_200_us", 1);
  for (const CacheState cache : {CacheState::cold, CacheState::hot}) {
    const double seconds = plan_->sample(cache, 2);
    EXPECT_GT(seconds, 199e-6);
    EXPECT_LT(seconds, 215e-6);
  }
}

// What a short kernel's time holds besides its own: the timer's documentation gives the bound.
TEST_F(GpuInPlace, AKernelThatDoesNothingTakesLittle) {
  problem_.shape = {1, 1, 1, 1, 1};
  stage("twice");
  std::vector<double> seconds;
  for (int i = 0; i < 50; ++i) seconds.push_back(plan_->sample(CacheState::cold, 1));
  std::sort(seconds.begin(), seconds.end());
  RecordProperty("median_us", std::to_string(seconds[25] * 1e6));
  EXPECT_GT(seconds[25], 0);
  EXPECT_LT(seconds[25], 5e-6);
}

}  // namespace
}  // namespace gla_bench::cuda
