#pragma once
// The device's counters. They exist where both the toolkit at build time and the machine at run
// time have a profiling interface. cupti/ or without_cupti/ has the definitions.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "harness/backends/backend.hpp"

namespace gla_bench::cuda {

/// The parts of one counted call. Each waits for its own work.
struct CountedWork {
  std::function<void()> prepare;  ///< uncounted: undoes a call's changes, empties the cache
  std::function<void()> call;     ///< everything that one call enqueues
  std::function<void()> evict;    ///< reads a clean buffer of several times the cache's size
};

class CounterReader {
 public:
  virtual ~CounterReader() = default;
  /// Runs the work as often as these metrics need passes (io_metrics() alone: once) and returns the
  /// counts. Missing or forbidden counters are reported in the reading. Exceptions of the work
  /// itself are passed on.
  virtual CounterReading read(std::span<const std::string> metrics, const CountedWork& work) = 0;
};

/// A reader for a device of this process, whose context must be current. Loads nothing before the
/// first read().
std::unique_ptr<CounterReader> make_counter_reader(int device);

/// Whether a chip of this compute capability can count these metrics, from the profiler's own
/// tables. Needs neither device nor driver.
CounterCheck check_counters(std::span<const std::string> metrics, int arch);

}  // namespace gla_bench::cuda
