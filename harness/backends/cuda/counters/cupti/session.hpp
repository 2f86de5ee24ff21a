#pragma once
// The device's counters in use, through CUPTI's range profiler on the current context. The caller
// controls ranges and replay. So one range may hold any number of launches, and a call's changes
// can be undone before it runs again.

#include <functional>
#include <string>
#include <vector>

#include "harness/backends/cuda/counters/cupti/metrics.hpp"

namespace gla_bench::cuda::cupti {

class Session {
 public:
  /// Reserves the counters for its lifetime. Others cannot use them meanwhile. @throws Fault
  Session(const Library& library, const Metrics& metrics, std::size_t ranges);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one pass. `work` creates its ranges with range(). Returns true after the last pass
  /// needed.
  bool pass(const std::function<void()>& work);

  /// Counts what `work` does on the device. `work` must have waited for this when it returns.
  void range(const char* name, const std::function<void()>& work);

  /// The values of each range by its name, after the last pass. @throws Fault, also where the
  /// device dropped a range
  std::map<std::string, Counts> results();

 private:
  struct Disable {
    const Library* library;
    void operator()(CUpti_RangeProfiler_Object* profiler) const;
  };

  void enable();
  void configure();
  std::string range_name(std::size_t range) const;

  const Library& library_;
  const Metrics& metrics_;
  std::size_t ranges_;
  std::vector<std::uint8_t> counter_data_;
  std::unique_ptr<CUpti_RangeProfiler_Object, Disable> profiler_;  // goes before what it writes to
};

}  // namespace gla_bench::cuda::cupti
