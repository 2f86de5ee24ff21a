#pragma once
// A built CUDA candidate with its launches, bound to a workset.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"
#include "harness/backends/cuda/device/guarded.hpp"
#include "harness/backends/cuda/run/bound_recipe.hpp"
#include "harness/backends/cuda/run/workset.hpp"

namespace gla_bench::cuda {

/// The build results of the kernels that the recipe launches, after checking that the limits allow
/// its launches. `codes` are those of the recipe's own source, then of each import. @throws
/// BuildError for a kernel that its source lacks, an import that does not exist, more shared memory
/// or registers than a block may have, a block of more than 1024 threads, an empty grid, an
/// impossible product, or a step without a stage among steps with stages
BuildInfo check_recipe(const Recipe& recipe, std::span<const CodePtr> codes, const Limits& limits);

class CudaPlan : public Plan {
 public:
  /// If `device` is null, the candidate is only compiled. `codes` is as for check_recipe.
  CudaPlan(Candidate candidate, Recipe recipe, std::vector<CodePtr> codes, BuildInfo info,
           Device* device);

  BuildInfo info() const override { return info_; }
  void prepare(Workset& workset) override;
  void poison_workspace() override;
  std::optional<std::string> damage() override;
  void run() override;
  double sample(CacheState cache, int calls) override;
  std::vector<StageTime> stage_times(CacheState cache) override;
  std::size_t launches() const override { return recipe_.steps.size(); }
  CounterReading count(std::span<const std::string> metrics) override;
  void repeat(int calls) override;
  double sustained(std::span<Workset* const> worksets, int rounds) override;

 private:
  CudaWorkset& staged_here(Workset& workset) const;
  Binding bind(const CudaWorkset& workset) const;
  void* address(const CudaWorkset& workset, const std::string& buffer) const;
  void enqueue() const { enqueue(bound_); }
  void enqueue(const Binding& binding) const;
  void enqueue(const Binding& binding, const BoundStep& step) const;
  /// What follows calls outside of their time (Variant::after_call).
  void follow(const Binding& binding) const;
  Device& device() const;
  template <class Work>
  auto with_context(Work work) const;

  Candidate candidate_;
  Recipe recipe_;
  std::vector<CodePtr> codes_;
  BuildInfo info_;
  Device* device_;
  CudaWorkset* workset_ = nullptr;
  std::unique_ptr<BoundRecipe> recipe_on_device_;  // from prepare() on
  std::unique_ptr<GuardedBuffers> workspace_;
  Binding bound_;
  bool ran_ = false;
};

}  // namespace gla_bench::cuda
