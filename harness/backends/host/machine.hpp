#pragma once
// The host's properties and abilities: memory, processor, ceilings, and how to empty its caches.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The size of physical memory, or 0 where the system does not report it.
std::size_t host_memory_bytes();

/// The mean clock of the processors in MHz as the system reports it, or nothing.
std::optional<double> host_clock_mhz();

/// "device" (processor model), "cores", "threads", "memory_bytes", "last_level_cache_bytes",
/// "compiler", "openmp", "blas"; "rough" where measures_roughly().
Environment host_environment(int threads);

/// The kernels to ask OpenBLAS for, by its environment variable OPENBLAS_CORETYPE, where it does
/// not know the processor and has chosen those that run on any x86-64: a processor newer than the
/// library, whose products would take several times as long. Nothing where it has `chosen` others.
std::optional<std::string> blas_kernels_to_ask_for(std::string_view chosen, bool avx2, bool avx512);
/// The same of this processor and what the library has chosen in this process.
std::optional<std::string> blas_kernels_to_ask_for();
inline constexpr const char* blas_kernels_variable = "OPENBLAS_CORETYPE";

/// An environment variable for tests, many of which start a program that times something. Where it
/// says anything, measure_host_ceilings() copies 64 MiB and takes a 64th of the sums, and
/// CacheFlush reads less than a large last-level cache holds: of a cache of 260 MiB, flushing takes
/// more time than all else. Records say so, and name the smaller sgemm.
inline constexpr const char* rough_variable = "GLA_BENCH_ROUGH";

/// Whether it says anything.
bool measures_roughly();

/// Measures a large copy by all OpenMP threads and a large sgemm, and keeps the best of a few runs.
/// Takes less than two seconds.
Ceilings measure_host_ceilings();

/// Evicts a candidate's data from the caches. It reads a buffer twice as large as the last-level
/// cache, or of 64 MiB where measures_roughly(), with all OpenMP threads. Reading leaves no dirty
/// lines to write back later.
class CacheFlush {
 public:
  /// The size of its buffer, which a process that times candidates needs besides their tensors.
  static std::size_t bytes();
  void run();

 private:
  std::vector<unsigned char> buffer_;  // allocated at the first run
  unsigned long long sink_ = 0;        // prevents the compiler from removing the reads
};

}  // namespace gla_bench
