#include "harness/measure/clock_reasons.hpp"

#include <algorithm>
#include <array>

namespace gla_bench {
namespace {

constexpr std::chrono::milliseconds pause{10};

}  // namespace

bool slows_down(std::string_view reason) {
  constexpr std::array<std::string_view, 5> slowing{"sw_power_cap", "hw_slowdown",
                                                    "sw_thermal_slowdown", "hw_thermal_slowdown",
                                                    "hw_power_brake_slowdown"};
  return std::find(slowing.begin(), slowing.end(), reason) != slowing.end();
}

void ClockWatch::look() {
  for (std::string& reason : backend_.clock_reasons())
    if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
      reasons_.push_back(std::move(reason));
  last_ = std::chrono::steady_clock::now();
}

void ClockWatch::look_now_and_then() {
  if (std::chrono::steady_clock::now() - last_ >= pause) look();
}

void ClockWatch::tell(Timing& timing) const {
  timing.clock_reasons = reasons_;
  timing.throttled = std::any_of(reasons_.begin(), reasons_.end(), slows_down);
}

}  // namespace gla_bench
