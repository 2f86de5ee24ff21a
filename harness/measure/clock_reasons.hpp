#pragma once
// Why a device's clocks were where they were while something was timed.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// True for a reason that makes a time say less of the candidate than of its circumstances: a power
/// cap, heat, a brake. Clocks that somebody set, or an idle device, are no such reason.
bool slows_down(std::string_view reason);

/// Gathers a backend's reasons over the time of a measurement, each once.
class ClockWatch {
 public:
  explicit ClockWatch(Backend& backend) : backend_(backend) {}
  /// Reads now.
  void look();
  /// Reads now, unless it has done so within the last hundredth of a second: for between samples.
  void look_now_and_then();
  /// Writes `clock_reasons` and `throttled`.
  void tell(Timing& timing) const;

 private:
  Backend& backend_;
  std::chrono::steady_clock::time_point last_;
  std::vector<std::string> reasons_;
};

}  // namespace gla_bench
