#include "harness/backends/cuda/device/cublas_handle.hpp"

#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/cuda/toolkit/cublas_library.hpp"

namespace gla_bench::cuda {

CublasHandle::CublasHandle() {
  const CublasFunctions& call = cublas();
  check(call.create(&handle_), "cublasCreate");
  // Without it cuBLAS may round the parts of a split sum to the type of its results, 16 bits.
  check(call.set_math_mode(
            handle_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                               CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "cublasSetMathMode");
}

CublasHandle::~CublasHandle() {
  ignore(cublas().destroy(handle_));
}

void CublasHandle::set(cudaStream_t stream, void* workspace) {
  const CublasFunctions& call = cublas();
  check(call.set_stream(handle_, stream), "cublasSetStream");
  check(call.set_workspace(handle_, workspace, cublas_workspace_bytes), "cublasSetWorkspace");
}

}  // namespace gla_bench::cuda
