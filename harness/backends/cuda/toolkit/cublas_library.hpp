#pragma once
// The functions of cuBLAS, loaded at run time.

#include <cublas_v2.h>

#include "harness/backends/cuda/toolkit/bound_library.hpp"

namespace gla_bench::cuda {

/// The functions in use, under their own names without the prefix.
struct CublasFunctions {
  static constexpr std::string_view stem = "libcublas", companion = "libcublasLt.so";
  static constexpr std::string_view purpose = "cuBLAS, which multiplies matrices on the GPU,";

  explicit CublasFunctions(const Binder& bind);

  decltype(&::cublasGetProperty) property = nullptr;
  decltype(&::cublasGetStatusName) status_name = nullptr;
  decltype(&::cublasGetStatusString) status_string = nullptr;
  decltype(&::cublasCreate_v2) create = nullptr;
  decltype(&::cublasDestroy_v2) destroy = nullptr;
  decltype(&::cublasSetStream_v2) set_stream = nullptr;
  decltype(&::cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&::cublasSetMathMode) set_math_mode = nullptr;
  decltype(&::cublasGemmStridedBatchedEx_64) gemm_strided_batched = nullptr;
};

/// @throws InputError where the library, or a function of it, is missing
inline const CublasFunctions& cublas() {
  return functions_of<CublasFunctions>();
}

}  // namespace gla_bench::cuda
