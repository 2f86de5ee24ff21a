#pragma once
// What the host is and what it can do: memory, processor, ceilings, and how to empty its caches.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// Physical memory, 0 where the system does not say.
std::size_t host_memory_bytes();

/// Mean clock of the processors in MHz as the system reports it, or nothing.
std::optional<double> host_clock_mhz();

/// "device" (processor model), "cores", "threads", "memory_bytes", "last_level_cache_bytes",
/// "compiler", "openmp", "blas".
Environment host_environment(int threads);

/// A large copy by all OpenMP threads and a large sgemm, the best of a few: under two seconds.
Ceilings measure_host_ceilings();

/// Empties the caches of what a candidate touches by reading a buffer twice as large as the last
/// level cache, with all OpenMP threads. Reading leaves no dirty lines to be written back later.
class CacheFlush {
 public:
  /// The size of its buffer: what a process that times candidates holds besides their tensors.
  static std::size_t bytes();
  void run();

 private:
  std::vector<unsigned char> buffer_;  // made at the first run
  unsigned long long sink_ = 0;        // keeps the reads alive
};

}  // namespace gla_bench
