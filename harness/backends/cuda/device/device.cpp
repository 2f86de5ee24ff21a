#include "harness/backends/cuda/device/device.hpp"

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/devices.hpp"

namespace gla_bench::cuda {

DeviceProbe probe_device(int index) {
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
  if (code != cudaSuccess) {
    ignore(cudaGetLastError());
    return {std::nullopt, std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code)};
  }
  if (index < 0 || index >= count)
    throw InputError("there is no CUDA device " + std::to_string(index) + ": " +
                     std::to_string(count) + " found, counted from 0");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  return {properties, ""};
}

Device::Device(int index, const cudaDeviceProp& properties, Compiler& compiler)
    : index_(index), arch_(10 * properties.major + properties.minor) {
  check(cudaSetDevice(index), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  helpers_ =
      std::make_unique<Helpers>(compiler.get(Helpers::text(), Helpers::source(), arch_),
                                properties.multiProcessorCount, properties.sharedMemPerBlockOptin);
  timer_ =
      std::make_unique<Timer>(*helpers_, stream_, static_cast<std::size_t>(properties.l2CacheSize));
  counters_ = make_counter_reader(index);
}

Device::~Device() {
  cublas_.reset();
  counters_.reset();
  timer_.reset();
  helpers_.reset();
  if (stream_ != nullptr) ignore(cudaStreamDestroy(stream_));
}

cublasHandle_t Device::cublas() {
  if (cublas_ == nullptr) {
    auto handle = std::make_unique<CublasHandle>();
    cublas_workspace_ = DeviceMemory(cublas_workspace_bytes, "cuBLAS's workspace");
    handle->set(stream_, cublas_workspace_.data());
    cublas_ = std::move(handle);
  }
  return cublas_->get();
}

void Device::synchronize() const {
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

}  // namespace gla_bench::cuda

namespace gla_bench {

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cuda::ignore(cudaGetLastError());
  return 0;
}

}  // namespace gla_bench
