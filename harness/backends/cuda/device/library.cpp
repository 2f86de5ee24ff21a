#include "harness/backends/cuda/device/library.hpp"

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {

Library::Library(CodePtr code) : code_(std::move(code)) {
  try {
    check(cudaLibraryLoadData(&library_, code_->cubin.data(), nullptr, nullptr, 0, nullptr, nullptr,
                              0),
          "cudaLibraryLoadData");
  } catch (const DeviceLost&) {
    throw;
  } catch (const RunError& error) {
    throw BuildError(error.what());
  }
}

Library::~Library() {
  ignore(cudaLibraryUnload(library_));
}

cudaKernel_t Library::kernel(const std::string& entry) const {
  cudaKernel_t kernel = nullptr;
  const cudaError_t code = cudaLibraryGetKernel(&kernel, library_, entry.c_str());
  if (code == cudaErrorSymbolNotFound) {
    ignore(cudaGetLastError());
    throw BuildError("the binary has no kernel '" + entry + "'");
  }
  check(code, "cudaLibraryGetKernel");
  return kernel;
}

BoundKernel bind_kernel(const Library& library, const KernelLaunch& launch,
                        std::size_t param_bytes) {
  BoundKernel bound{library.kernel(launch.entry), launch.grid,  launch.block,
                    launch.shared_bytes,          launch.entry, launch.overlaps};
  const void* function = bound.kernel;
  std::size_t offset = 0, size = 0;
  check(cudaFuncGetParamInfo(function, 0, &offset, &size), "cudaFuncGetParamInfo");
  if (size != param_bytes)
    throw BuildError("kernel '" + launch.entry + "' takes " + std::to_string(size) +
                     " bytes of parameters, the host passes " + std::to_string(param_bytes));
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.shared_bytes)),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  return bound;
}

void launch(const BoundKernel& kernel, const void* params, cudaStream_t stream) {
  void* arguments[] = {const_cast<void*>(params)};
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kernel.grid.x, kernel.grid.y, kernel.grid.z);
  config.blockDim = dim3(kernel.block.x, kernel.block.y, kernel.block.z);
  config.dynamicSmemBytes = kernel.shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = kernel.overlaps ? 1 : 0;
  const cudaError_t code =
      cudaLaunchKernelExC(&config, static_cast<const void*>(kernel.kernel), arguments);
  if (code != cudaSuccess) check(code, ("launch of '" + kernel.entry + "'").c_str());
}

}  // namespace gla_bench::cuda
