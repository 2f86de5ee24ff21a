#include "harness/backends/cuda/toolkit/cublas_library.hpp"

namespace gla_bench::cuda {

CublasFunctions::CublasFunctions(const Binder& bind) {
  bind(property, "cublasGetProperty");
  bind(status_name, "cublasGetStatusName");
  bind(status_string, "cublasGetStatusString");
  bind(create, "cublasCreate_v2");
  bind(destroy, "cublasDestroy_v2");
  bind(set_stream, "cublasSetStream_v2");
  bind(set_workspace, "cublasSetWorkspace_v2");
  bind(set_math_mode, "cublasSetMathMode");
  bind(gemm_strided_batched, "cublasGemmStridedBatchedEx_64");
}

}  // namespace gla_bench::cuda
