#pragma once
// The device's counters, where the toolkit that this was built with and the machine that it runs on
// have a profiling interface: cupti/ or without_cupti/ has the definitions.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "harness/backends/backend.hpp"

namespace gla_bench::cuda {

/// The pieces of one counted call. Each waits for its own work.
struct CountedWork {
  std::function<void()> prepare;  ///< undoes what a call changed, empties the cache; not counted
  std::function<void()> call;     ///< everything that one call enqueues
  std::function<void()> evict;    ///< reads a clean buffer of several times the cache's size
};

class CounterReader {
 public:
  virtual ~CounterReader() = default;
  /// Runs the work as often as these metrics need passes (io_metrics() alone: once) and returns
  /// what was counted. That the counters are not there, or may not be read, is in the reading; what
  /// the work itself throws gets out.
  virtual CounterReading read(std::span<const std::string> metrics, const CountedWork& work) = 0;
};

/// For a device of this process, whose context is current. Nothing is loaded before the first
/// read().
std::unique_ptr<CounterReader> make_counter_reader(int device);

/// Whether these metrics can be counted on a chip of this compute capability, by the profiler's own
/// tables: needs neither device nor driver.
CounterCheck check_counters(std::span<const std::string> metrics, int arch);

}  // namespace gla_bench::cuda
