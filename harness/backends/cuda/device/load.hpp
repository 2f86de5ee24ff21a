#pragma once
// Other work beside a candidate on the device.

#include <atomic>
#include <exception>
#include <thread>

#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// Kernels in a second stream that keep memory and a quarter of the SMs busy, one behind the other,
/// until it is stopped or destroyed. Each is short, so that blocks which wait for one another, and
/// of which some find no place beside it, go on when it ends.
class Load {
 public:
  /// @throws RunError
  explicit Load(Device& device);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Ends it. @throws RunError where a kernel of its own failed
  void stop();

 private:
  void run();

  Device& device_;
  DeviceMemory data_;
  cudaStream_t stream_ = nullptr;
  std::atomic<bool> done_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace gla_bench::cuda
