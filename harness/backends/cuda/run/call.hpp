#pragma once
// A built CUDA candidate on memory and streams of the caller.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/cublas_handle.hpp"
#include "harness/backends/cuda/run/bound_recipe.hpp"

namespace gla_bench::cuda {

/// What the calls on one device share: the loaded binaries and a handle of cuBLAS. It has neither
/// memory nor a stream of its own.
class CallDevice {
 public:
  explicit CallDevice(int index) : index_(index) {}

  int index() const { return index_; }
  /// The binary, loaded once for all calls that launch kernels of it. The device is the current
  /// one.
  LibraryPtr library(const CodePtr& code);
  /// Creates the handle, which cannot be done while a stream is captured.
  void open_cublas();
  /// Does work that multiplies, alone, with the handle on that stream and with that workspace.
  template <class Work>
  void multiplying(cudaStream_t stream, void* workspace, Work work) {
    const std::lock_guard lock(mutex_);
    cublas_->set(stream, workspace);
    work(cublas_->get());
  }

 private:
  int index_;
  std::mutex mutex_;
  std::map<CodePtr, LibraryPtr> libraries_;
  std::unique_ptr<CublasHandle> cublas_;
};

class CudaCall final : public DirectCall {
 public:
  /// Loads the code. `codes` is as for check_recipe. @throws BuildError, RunError
  CudaCall(Candidate candidate, Recipe recipe, std::span<const CodePtr> codes, BuildInfo info,
           std::shared_ptr<CallDevice> device);

  BuildInfo info() const override { return info_; }
  std::vector<Region> workspace() const override;
  void run(const Address& address, void* stream) const override;

 private:
  Candidate candidate_;
  Recipe recipe_;
  BuildInfo info_;
  std::shared_ptr<CallDevice> device_;
  std::unique_ptr<BoundRecipe> bound_;
};

}  // namespace gla_bench::cuda
