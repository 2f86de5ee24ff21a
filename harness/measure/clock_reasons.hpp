#pragma once
// The reasons that a device gives for its clock frequencies during a timing.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// True for a reason that makes a time reflect the circumstances more than the candidate: a power
/// cap, heat, or a hardware slowdown. Clocks that somebody set and an idle device are no such
/// reasons.
bool slows_down(std::string_view reason);

/// Collects a backend's clock reasons during a measurement, each once.
class ClockWatch {
 public:
  explicit ClockWatch(Backend& backend) : backend_(backend) {}
  /// Reads the reasons now.
  void look();
  /// Reads them unless they were read within the last hundredth of a second. Meant for use between
  /// samples.
  void look_now_and_then();
  /// Writes `clock_reasons` and `throttled`.
  void tell(Timing& timing) const;

 private:
  Backend& backend_;
  std::chrono::steady_clock::time_point last_;
  std::vector<std::string> reasons_;
};

}  // namespace gla_bench
