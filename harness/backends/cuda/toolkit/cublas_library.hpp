#pragma once
// The functions of cuBLAS, loaded at run time.

#include <cublas_v2.h>

#include "harness/support/system/shared_library.hpp"

namespace gla_bench::cuda {

/// The functions in use, under their own names without the prefix.
struct CublasFunctions {
  decltype(&::cublasGetProperty) property = nullptr;
  decltype(&::cublasGetStatusName) status_name = nullptr;
  decltype(&::cublasGetStatusString) status_string = nullptr;
  decltype(&::cublasCreate_v2) create = nullptr;
  decltype(&::cublasDestroy_v2) destroy = nullptr;
  decltype(&::cublasSetStream_v2) set_stream = nullptr;
  decltype(&::cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&::cublasGemmStridedBatchedEx_64) gemm_strided_batched = nullptr;
};

/// The library, opened at the first call. If it is missing, its reason() lists what was tried.
const SharedLibrary& cublas_library();

/// @throws InputError where the library, or a function of it, is missing
const CublasFunctions& cublas();

}  // namespace gla_bench::cuda
