#pragma once
// A handle of cuBLAS with the accuracy that candidates are judged by.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace gla_bench::cuda {

/// The size that cuBLAS recommends for Hopper. It is more than enough for other architectures.
constexpr std::size_t cublas_workspace_bytes = std::size_t{32} << 20;

class CublasHandle {
 public:
  /// On the current device. @throws RunError; InputError where the library is missing
  CublasHandle();
  ~CublasHandle();
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  /// The stream of the next products, and cublas_workspace_bytes of memory for them alone.
  /// @throws RunError
  void set(cudaStream_t stream, void* workspace);
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace gla_bench::cuda
