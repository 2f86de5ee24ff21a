#include "harness/backends/cuda/device/check.hpp"

#include <string>

#include "core/error.hpp"
#include "harness/backends/cuda/toolkit/cublas_library.hpp"

namespace gla_bench::cuda {
namespace {

bool ends_context(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  ignore(cudaGetLastError());  // or the next launch would report this error again
  const std::string text = std::string(call) + ": " + cudaGetErrorName(code) + " (" +
                           std::to_string(static_cast<int>(code)) +
                           "): " + cudaGetErrorString(code);
  if (ends_context(code)) throw DeviceLost(text);
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw RunError(text);
}

void check(cublasStatus_t code, const char* call) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw RunError(std::string(call) + ": " + cublas().status_name(code) + " (" +
                 std::to_string(static_cast<int>(code)) + "): " + cublas().status_string(code));
}

}  // namespace gla_bench::cuda
