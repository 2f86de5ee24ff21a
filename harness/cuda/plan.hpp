#pragma once
// A built CUDA candidate: what it launches, bound to a workset.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/backend.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/guarded.hpp"
#include "harness/cuda/matrix_product.hpp"
#include "harness/cuda/workset.hpp"

namespace gla_bench::cuda {

/// What building gave, of the kernels that the recipe launches, and whether the limits allow its
/// launches.
/// @throws BuildError for a kernel that the source lacks, more shared memory or registers than a
/// block may have, a block of more than 1024 threads, an empty grid, a product that can not be
BuildInfo check_recipe(const Recipe& recipe, const Code& code, const Limits& limits);

class CudaPlan : public Plan {
 public:
  /// `device` null: compiled only.
  CudaPlan(Candidate candidate, Recipe recipe, CodePtr code, BuildInfo info, Device* device);

  BuildInfo info() const override { return info_; }
  void prepare(Workset& workset) override;
  void poison_workspace() override;
  std::optional<std::string> damage() override;
  void run() override;
  double sample(CacheState cache, int calls) override;

 private:
  struct BoundProduct {
    ColumnMajorProduct call;
    void *a = nullptr, *b = nullptr, *c = nullptr;
    std::int64_t batch = 1;
    float alpha = 1, beta = 0;
    Arithmetic arithmetic = Arithmetic::float32;
  };
  struct BoundZero {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  using BoundStep = std::variant<BoundKernel, BoundProduct, BoundZero>;

  BoundStep bind(const Step& step) const;
  void* address(const std::string& buffer) const;
  void* operand_address(const MatrixOperand& operand) const;
  void enqueue() const;
  void multiply(const BoundProduct& product) const;
  Device& device() const;
  template <class Work>
  auto with_context(Work work) const;

  Candidate candidate_;
  Recipe recipe_;
  CodePtr code_;
  BuildInfo info_;
  Device* device_;
  CudaWorkset* workset_ = nullptr;
  std::unique_ptr<Library> library_;
  std::unique_ptr<GuardedBuffers> workspace_;
  ParamBytes params_;
  std::vector<BoundStep> steps_;
  bool ran_ = false;
};

}  // namespace gla_bench::cuda
