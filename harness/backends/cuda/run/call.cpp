#include "harness/backends/cuda/run/call.hpp"

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

constexpr const char* cublas_region = "cuBLAS's workspace";

/// Makes a device the thread's current one in this scope, as the caller may be at another.
class OnDevice {
 public:
  explicit OnDevice(int index) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ == index) return;
    check(cudaSetDevice(index), "cudaSetDevice");
    changed_ = true;
  }
  ~OnDevice() {
    if (changed_) ignore(cudaSetDevice(before_));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace

LibraryPtr CallDevice::library(const CodePtr& code) {
  const std::lock_guard lock(mutex_);
  LibraryPtr& known = libraries_[code];
  if (!known) known = std::make_shared<Library>(code);
  return known;
}

void CallDevice::open_cublas() {
  const std::lock_guard lock(mutex_);
  if (!cublas_) cublas_ = std::make_unique<CublasHandle>();
}

CudaCall::CudaCall(Candidate candidate, Recipe recipe, std::span<const CodePtr> codes,
                   BuildInfo info, std::shared_ptr<CallDevice> device)
    : candidate_(std::move(candidate)),
      recipe_(std::move(recipe)),
      info_(std::move(info)),
      device_(std::move(device)) {
  const OnDevice scope(device_->index());
  std::vector<LibraryPtr> libraries;
  for (const CodePtr& code : codes) libraries.push_back(device_->library(code));
  bound_ = std::make_unique<BoundRecipe>(candidate_, recipe_, std::move(libraries));
  bound_->load();
  if (bound_->multiplies()) device_->open_cublas();
}

std::vector<Region> CudaCall::workspace() const {
  std::vector<Region> regions = workspace_of(candidate_);
  if (bound_->multiplies()) regions.push_back({cublas_region, cublas_workspace_bytes});
  return regions;
}

void CudaCall::run(const Address& address, void* stream) const {
  try {
    const OnDevice scope(device_->index());
    const auto on = static_cast<cudaStream_t>(stream);
    const Binding binding = bound_->bind(address);
    const auto enqueue_all = [&](cublasHandle_t cublas) {
      for (const BoundStep& step : binding.steps) enqueue(binding, step, on, cublas);
    };
    if (bound_->multiplies())
      device_->multiplying(on, address(cublas_region), enqueue_all);
    else
      enqueue_all(nullptr);
  } catch (const RunError& error) {
    throw RunError(describe(candidate_) + ": " + error.what());
  }
}

}  // namespace gla_bench::cuda
