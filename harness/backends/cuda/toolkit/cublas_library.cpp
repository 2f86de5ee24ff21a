#include "harness/backends/cuda/toolkit/cublas_library.hpp"

#include "harness/backends/cuda/toolkit/bind.hpp"

namespace gla_bench::cuda {
namespace {

CublasFunctions bind_cublas() {
  const Binder bind(cublas_library(), "cuBLAS, which multiplies matrices on the GPU,");
  CublasFunctions f;
  bind(f.property, "cublasGetProperty");
  bind(f.status_name, "cublasGetStatusName");
  bind(f.status_string, "cublasGetStatusString");
  bind(f.create, "cublasCreate_v2");
  bind(f.destroy, "cublasDestroy_v2");
  bind(f.set_stream, "cublasSetStream_v2");
  bind(f.set_workspace, "cublasSetWorkspace_v2");
  bind(f.gemm_strided_batched, "cublasGemmStridedBatchedEx_64");
  return f;
}

}  // namespace

const SharedLibrary& cublas_library() {
  static const SharedLibrary library = open_toolkit_library("libcublas", "libcublasLt.so");
  return library;
}

const CublasFunctions& cublas() {
  static const CublasFunctions functions = bind_cublas();
  return functions;
}

}  // namespace gla_bench::cuda
