// What a kernel finds of an earlier one: in shared memory, and beside other work.

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

class GpuLeftovers : public GpuFixture {};

TEST_F(GpuLeftovers, SharedMemoryIsNaNBeforeAVerifiedRunAndNotPoison) {
  problem_.shape = {8, 64, 8, 32, 32};  // blocks for every SM
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    problem_.dtype = dtype;
    const Variant writes = variant("needs_much_shared", 80000);
    const Variant reads = variant("reads_leftovers", 80000);
    const auto workset = backend_->stage(op_, problem_, inputs());
    const auto first = backend_->build({&writes, problem_, {}});
    const auto second = backend_->build({&reads, problem_, {}});
    first->prepare(*workset);
    second->prepare(*workset);
    for (int again = 0; again < 3; ++again) {
      first->run();
      workset->poison_outputs();
      second->poison_workspace();
      second->run();
      const std::vector<float> y = workset->download_outputs().at("y");
      int left = 0;
      std::string first_left;
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (std::isnan(y[i]) || left++ >= 8) continue;
        first_left += " " + std::to_string(97 * i % 20000) + ": " + std::to_string(y[i]);
      }
      // A block cannot reach the kilobyte that the system keeps in its share of an SM, and another
      // kernel's blocks lie elsewhere: 408 to 444 of 131072 words on an H200.
      EXPECT_LT(left, static_cast<int>(y.size() / 100)) << "words that are not NaN:" << first_left;
      EXPECT_FALSE(workset->poison_left()) << "a NaN of its own";
    }
  }
}

TEST_F(GpuLeftovers, OtherWorkRunsBesideACandidate) {
  const Variant v = variant("twice");
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  plan->prepare(*workset);
  plan->run();
  const std::uint64_t right = workset->outputs_fingerprint();
  int calls = 0;
  backend_->beside_load([&] {
    for (; calls < 50; ++calls) {
      workset->poison_outputs();
      plan->run();
      ASSERT_EQ(workset->outputs_fingerprint(), right);
    }
  });
  EXPECT_EQ(calls, 50);
  EXPECT_EQ(workset->damage(), std::nullopt) << "the load writes to its own memory";
  EXPECT_THROW(backend_->beside_load([] { throw RunError("the work's own"); }), RunError);
}

TEST_F(GpuLeftovers, CopiesHaveTheirOwnTensorsWithTheSameInputs) {
  const Variant v = variant("twice");
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  plan->prepare(*workset);
  plan->run();
  const std::uint64_t right = workset->outputs_fingerprint();
  const auto first = workset->copy(), second = workset->copy();
  const std::vector<Workset*> all{workset.get(), first.get(), second.get()};
  for (Workset* each : all) each->poison_outputs();
  EXPECT_NE(first->outputs_fingerprint(), right);
  EXPECT_GT(plan->sustained(all, 200), 0) << "more launches than may wait in a held stream";
  for (Workset* each : all) {
    EXPECT_EQ(each->outputs_fingerprint(), right);
    EXPECT_EQ(each->damage(), std::nullopt);
  }
}

}  // namespace
}  // namespace gla_bench::cuda
