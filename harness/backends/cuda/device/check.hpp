#pragma once
// Turns return codes into exceptions. Every CUDA and cuBLAS call goes through check(). Destructors
// must not throw, so they drop the code explicitly with ignore().

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace gla_bench::cuda {

/// @throws RunError with the call's name, the code and its text; DeviceLost after an error that
/// ends the context (an illegal address, a failed launch); OutOfMemory
void check(cudaError_t code, const char* call);
void check(cublasStatus_t code, const char* call);

inline void ignore(cudaError_t) {}
inline void ignore(cublasStatus_t) {}

}  // namespace gla_bench::cuda
