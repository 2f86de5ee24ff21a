#include "harness/backends/cuda/device/ceilings.hpp"

#include <algorithm>
#include <vector>

#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/cuda/toolkit/cublas_library.hpp"

namespace gla_bench::cuda {
namespace {

constexpr int samples = 9;

double median_seconds(Device& device, int calls, const std::function<void()>& call,
                      CacheState cache = CacheState::hot) {
  call();
  device.synchronize();
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) seconds.push_back(device.timer().sample(cache, calls, 1, call));
  std::nth_element(seconds.begin(), seconds.begin() + samples / 2, seconds.end());
  return seconds[samples / 2];
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

// The better rate of a kernel with 16-byte accesses and the driver's own copy.
double copy_gb_per_s(Device& device) {
  const std::size_t bytes = std::min(std::size_t{1} << 30, free_bytes() / 4) / 16 * 16;
  const DeviceMemory from(bytes, "the copy ceiling"), to(bytes, "the copy ceiling");
  check(cudaMemsetAsync(from.data(), 1, bytes, device.stream()), "cudaMemsetAsync");
  const double kernel = median_seconds(device, 4, [&] {
    device.helpers().copy_buffer(from.data(), to.data(), bytes, device.stream());
  });
  const double driver = median_seconds(device, 4, [&] {
    check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, device.stream()),
          "cudaMemcpyAsync");
  });
  return 2e-9 * static_cast<double>(bytes) / std::min(kernel, driver);
}

double matrix_tflop_per_s(Device& device, std::int64_t extent) {
  const auto bytes = static_cast<std::size_t>(2 * extent * extent);
  const DeviceMemory a(bytes, "the matrix ceiling"), b(bytes, "the matrix ceiling"),
      c(bytes, "the matrix ceiling");
  device.helpers().fill_random(a.data(), bytes, device.stream());
  device.helpers().fill_random(b.data(), bytes, device.stream());
  const float one = 1, zero = 0;
  const double seconds = median_seconds(device, 3, [&] {
    check(cublas().gemm_strided_batched(device.cublas(), CUBLAS_OP_N, CUBLAS_OP_N, extent, extent,
                                        extent, &one, a.data(), CUDA_R_16BF, extent, 0, b.data(),
                                        CUDA_R_16BF, extent, 0, &zero, c.data(), CUDA_R_16BF,
                                        extent, 0, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
  });
  const auto n = static_cast<double>(extent);
  return 2e-12 * n * n * n / seconds;
}

double least_call_us(Device& device) {
  constexpr std::size_t bytes = 16;
  const DeviceMemory from(bytes, "the least call"), to(bytes, "the least call");
  check(cudaMemsetAsync(from.data(), 1, bytes, device.stream()), "cudaMemsetAsync");
  return 1e6 *
         median_seconds(
             device, 1,
             [&] { device.helpers().copy_buffer(from.data(), to.data(), bytes, device.stream()); },
             CacheState::cold);
}

}  // namespace

Ceilings measure_ceilings(Device& device) {
  const std::int64_t extent = free_bytes() > (std::size_t{2} << 30) ? 8192 : 2048;
  Ceilings result;
  result.copy_gb_per_s = copy_gb_per_s(device);
  result.matrix_tflop_per_s = matrix_tflop_per_s(device, extent);
  result.matrix = "bfloat16 " + std::to_string(extent) + "^3 (cuBLAS)";
  result.least_call_us = least_call_us(device);
  return result;
}

}  // namespace gla_bench::cuda
