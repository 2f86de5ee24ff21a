#include "harness/backends/cuda/device/memory.hpp"

#include <algorithm>

#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {

DeviceMemory::DeviceMemory(std::size_t bytes, const std::string& purpose) {
  const cudaError_t code = cudaMalloc(&data_, std::max<std::size_t>(bytes, 1));
  if (code != cudaSuccess)
    check(code, ("cudaMalloc of " + std::to_string(bytes) + " bytes for " + purpose).c_str());
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) ignore(cudaFree(data_));
}

}  // namespace gla_bench::cuda
