#include "harness/backends/cuda/device/load.hpp"

#include <utility>

#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

// More than a last-level cache holds, little beside a problem's tensors.
constexpr std::size_t data_bytes = std::size_t{128} << 20;
constexpr std::uint64_t kernel_ns = 2'000'000;

}  // namespace

Load::Load(Device& device) : device_(device), data_(data_bytes, "the load beside a candidate") {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  try {
    check(cudaMemsetAsync(data_.data(), 1, data_bytes, stream_), "cudaMemsetAsync");
    device_.helpers().keep_busy(data_.data(), data_bytes, kernel_ns, stream_);  // runs at once
  } catch (...) {
    ignore(cudaStreamDestroy(stream_));
    throw;
  }
  thread_ = std::thread([this] { run(); });
}

Load::~Load() {
  done_ = true;
  if (thread_.joinable()) thread_.join();
  ignore(cudaStreamDestroy(stream_));
}

void Load::stop() {
  done_ = true;
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Keeps two kernels in the stream.
void Load::run() {
  try {
    check(cudaSetDevice(device_.index()), "cudaSetDevice");
    while (!done_) {
      device_.helpers().keep_busy(data_.data(), data_bytes, kernel_ns, stream_);
      device_.helpers().keep_busy(data_.data(), data_bytes, kernel_ns, stream_);
      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize of the load");
    }
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize of the load");
  } catch (...) {
    error_ = std::current_exception();
  }
}

}  // namespace gla_bench::cuda
