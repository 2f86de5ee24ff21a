#pragma once
// A loaded binary and its kernels.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/variant.hpp"
#include "harness/backends/cuda/build/compiler.hpp"

namespace gla_bench::cuda {

class Library {
 public:
  /// Loads into the current device. @throws BuildError when the driver refuses the binary
  explicit Library(CodePtr code);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// @throws BuildError when the binary has no kernel of that name
  cudaKernel_t kernel(const std::string& entry) const;
  /// Allows the kernel that much dynamic shared memory. What it was allowed before stays allowed,
  /// since calls of several problems may share the library. @throws RunError
  void allow_shared(cudaKernel_t kernel, std::size_t bytes) const;

 private:
  CodePtr code_;
  cudaLibrary_t library_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::map<cudaKernel_t, std::size_t> allowed_;
};

using LibraryPtr = std::shared_ptr<const Library>;

/// A kernel that takes one struct by value, or several arguments, ready to launch.
struct BoundKernel {
  cudaKernel_t kernel = nullptr;
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
  std::string entry;
  bool overlaps = false;      ///< as KernelLaunch
  std::size_t arguments = 1;  ///< how many it takes
};

/// Looks up the kernel and allows it its dynamic shared memory. Compares the sizes of what it takes
/// with those of what will be passed, so that neither side reads past the other: the launch's
/// arguments, or one struct of `param_bytes`. @throws BuildError, RunError
BoundKernel bind_kernel(const Library& library, const KernelLaunch& launch,
                        std::size_t param_bytes);

/// Enqueues the kernel. `params` is its struct, or one slot (run/arguments.hpp) for each of its
/// arguments. @throws RunError
void launch(const BoundKernel& kernel, const void* params, cudaStream_t stream);

}  // namespace gla_bench::cuda
