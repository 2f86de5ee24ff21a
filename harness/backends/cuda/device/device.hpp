#pragma once
// The device in use: its properties, one stream, the backend's kernels, the timer, cuBLAS.

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string>

#include "harness/backends/cuda/build/compiler.hpp"
#include "harness/backends/cuda/counters/counters.hpp"
#include "harness/backends/cuda/device/cublas_handle.hpp"
#include "harness/backends/cuda/device/helpers.hpp"
#include "harness/backends/cuda/run/timer.hpp"

namespace gla_bench::cuda {

/// The architecture and properties of a device, or why there is none. Creates no context.
struct DeviceProbe {
  std::optional<cudaDeviceProp> properties;
  std::string reason;  ///< "cudaErrorInsufficientDriver: ...", where there is none
  int arch() const { return properties ? 10 * properties->major + properties->minor : 0; }
};

/// @throws InputError for an index that no device has
DeviceProbe probe_device(int index);

class Device {
 public:
  /// Opens the device and compiles the backend's kernels for it. @throws RunError, BuildError
  Device(int index, const cudaDeviceProp& properties, Compiler& compiler);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaStream_t stream() const { return stream_; }
  const Helpers& helpers() const { return *helpers_; }
  Timer& timer() { return *timer_; }
  CounterReader& counters() { return *counters_; }
  int arch() const { return arch_; }
  int index() const { return index_; }

  /// Created at the first call, with its own workspace, on stream(). @throws RunError
  cublasHandle_t cublas();

  void synchronize() const;

 private:
  int index_, arch_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Helpers> helpers_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<CounterReader> counters_;
  DeviceMemory cublas_workspace_;
  std::unique_ptr<CublasHandle> cublas_;
};

}  // namespace gla_bench::cuda
