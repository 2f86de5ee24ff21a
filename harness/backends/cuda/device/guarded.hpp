#pragma once
// Named buffers between guard zones.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/cuda/device/helpers.hpp"

namespace gla_bench::cuda {

class GuardedBuffers {
 public:
  /// Allocates each region separately, with 4 KiB of guard zone on either side. The rear zone
  /// starts directly after the last byte. Regions start at multiples of 256. @throws RunError
  /// naming the region that did not fit
  GuardedBuffers(const Helpers& helpers, cudaStream_t stream, const std::vector<Region>& regions);

  /// Returns null for an unknown name.
  std::byte* find(std::string_view name) const;
  std::size_t bytes(std::string_view name) const;

  /// Fills a region with 0xff: NaN in every dtype. Asynchronous.
  void poison(std::string_view name) const;
  void poison_all() const;

  /// "guard zone behind 'o' overwritten at byte 12", or nothing. Waits for the stream.
  std::optional<std::string> damage() const;

 private:
  struct Buffer {
    std::string name;
    std::size_t bytes = 0;
    DeviceMemory memory;
    std::byte* begin = nullptr;
  };

  const Buffer* buffer(std::string_view name) const;

  const Helpers& helpers_;
  cudaStream_t stream_;
  std::vector<Buffer> buffers_;
  DeviceMemory zones_, first_bad_;  // two zones for each buffer: front and rear
};

}  // namespace gla_bench::cuda
