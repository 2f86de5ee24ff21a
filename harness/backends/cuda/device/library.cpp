#include "harness/backends/cuda/device/library.hpp"

#include <array>
#include <optional>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/cuda/run/arguments.hpp"

namespace gla_bench::cuda {
namespace {

/// The bytes of what the kernel takes in this place, or nothing where it takes fewer arguments.
std::optional<std::size_t> size_taken(cudaKernel_t kernel, std::size_t index) {
  std::size_t offset = 0, size = 0;
  const cudaError_t code =
      cudaFuncGetParamInfo(static_cast<const void*>(kernel), index, &offset, &size);
  if (code == cudaErrorInvalidValue) {
    ignore(cudaGetLastError());
    return std::nullopt;
  }
  check(code, "cudaFuncGetParamInfo");
  return size;
}

void check_arguments(cudaKernel_t kernel, const KernelLaunch& launch) {
  const std::string who = "kernel '" + launch.entry + "' ";
  for (std::size_t i = 0; i <= launch.arguments.size(); ++i) {
    const std::optional<std::size_t> taken = size_taken(kernel, i);
    if (taken.has_value() != (i < launch.arguments.size()))
      throw BuildError(who + "takes " + (taken ? "more" : "fewer") + " than the " +
                       std::to_string(launch.arguments.size()) + " arguments that are passed");
    if (taken && *taken != size_of(launch.arguments[i]))
      throw BuildError(who + "takes " + std::to_string(*taken) + " bytes as argument " +
                       std::to_string(i + 1) + ", " + std::to_string(size_of(launch.arguments[i])) +
                       " are passed");
  }
}

}  // namespace

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

void Library::allow_shared(cudaKernel_t kernel, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto known = allowed_.find(kernel);
  if (known != allowed_.end() && known->second >= bytes) return;
  check(cudaFuncSetAttribute(static_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  allowed_[kernel] = bytes;
}

BoundKernel bind_kernel(const Library& library, const KernelLaunch& launch,
                        std::size_t param_bytes) {
  BoundKernel bound{library.kernel(launch.entry), launch.grid,  launch.block,
                    launch.shared_bytes,          launch.entry, launch.overlaps};
  if (!launch.arguments.empty()) {
    check_arguments(bound.kernel, launch);
    bound.arguments = launch.arguments.size();
  } else if (const std::size_t size = size_taken(bound.kernel, 0).value_or(0);
             size != param_bytes) {
    throw BuildError("kernel '" + launch.entry + "' takes " + std::to_string(size) +
                     " bytes of parameters, the host passes " + std::to_string(param_bytes));
  }
  library.allow_shared(bound.kernel, launch.shared_bytes);
  return bound;
}

void launch(const BoundKernel& kernel, const void* params, cudaStream_t stream) {
  std::array<void*, most_arguments> arguments{};
  for (std::size_t i = 0; i < kernel.arguments; ++i)
    arguments[i] = static_cast<std::byte*>(const_cast<void*>(params)) + i * argument_slot;
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
      cudaLaunchKernelExC(&config, static_cast<const void*>(kernel.kernel), arguments.data());
  if (code != cudaSuccess) check(code, ("launch of '" + kernel.entry + "'").c_str());
}

}  // namespace gla_bench::cuda
