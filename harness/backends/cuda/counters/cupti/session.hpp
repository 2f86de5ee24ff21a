#pragma once
// The device's counters in use: CUPTI's range profiler on the current context, with ranges and
// replay in the caller's hand, so that one range may hold any number of launches and what a call
// changes can be undone before it runs again.

#include <functional>
#include <string>
#include <vector>

#include "harness/backends/cuda/counters/cupti/metrics.hpp"

namespace gla_bench::cuda::cupti {

class Session {
 public:
  /// Takes the counters for as long as it lives; others can not have them meanwhile.
  /// @throws Fault
  Session(const Library& library, const Metrics& metrics, std::size_t ranges);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// One pass: `work` makes its ranges with range(). True when it was the last that is needed.
  bool pass(const std::function<void()>& work);

  /// Counts what `work` does on the device; it has waited for it when it returns.
  void range(const char* name, const std::function<void()>& work);

  /// After the last pass: each range's figures by its name. @throws Fault, also where the device
  /// dropped a range
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
