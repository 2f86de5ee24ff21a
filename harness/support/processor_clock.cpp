#include "harness/support/processor_clock.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "harness/support/statistics/statistics.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gla_bench {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

#if defined(__x86_64__)
bool runs_at_one_rate() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags"))
      return line.find(" constant_tsc") != std::string::npos &&
             line.find(" nonstop_tsc") != std::string::npos;
  return false;
}
#endif

}  // namespace

std::optional<std::uint64_t> processor_ticks() {
#if defined(__x86_64__)
  static const bool usable = runs_at_one_rate();
  if (usable) return __rdtsc();
  return std::nullopt;
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return std::nullopt;
#endif
}

ClockReading closest_reading(const std::function<std::optional<std::uint64_t>()>& ticks,
                             const std::function<std::int64_t()>& nanoseconds) {
  ClockReading closest;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto before = ticks();
    const std::int64_t now = nanoseconds();
    const auto after = ticks();
    if (!before || !after) return {std::nullopt, now};
    if (*after - *before >= least) continue;
    least = *after - *before;
    closest = {*before, now};
  }
  return closest;
}

ClockReading read_clocks() {
  return closest_reading(processor_ticks, steady_nanoseconds);
}

double measured_ticks_per_second(const ClockReader& read) {
  constexpr std::int64_t span = 2'000'000;  // nanoseconds
  std::array<double, 5> rates{};
  for (double& rate : rates) {
    const ClockReading start = read();
    if (!start.ticks) return 0;
    ClockReading end = read();
    while (end.nanoseconds - start.nanoseconds < span) end = read();
    rate = static_cast<double>(*end.ticks - *start.ticks) /
           (static_cast<double>(end.nanoseconds - start.nanoseconds) * 1e-9);
  }
  return median(rates);
}

double processor_ticks_per_second() {
  static const double rate = measured_ticks_per_second(read_clocks);
  return rate;
}

bool clocks_differ(double seconds, double seconds_by_processor) {
  constexpr double factor = 1.25, slack = 1e-3;
  const double difference = std::abs(seconds - seconds_by_processor);
  return !(difference <= slack) &&
         !(seconds <= factor * seconds_by_processor && seconds_by_processor <= factor * seconds);
}

TwoClocks::TwoClocks(ClockReader read) : read_(std::move(read)) {
  processor_ticks_per_second();  // before the span starts, since the first call takes its time
  start_ = read_();
}

bool TwoClocks::differ() const {
  const ClockReading now = read_();
  const double rate = processor_ticks_per_second();
  if (!(rate > 0) || !now.ticks || !start_.ticks) return false;
  const double seconds = static_cast<double>(now.nanoseconds - start_.nanoseconds) * 1e-9;
  return clocks_differ(seconds, static_cast<double>(*now.ticks - *start_.ticks) / rate);
}

}  // namespace gla_bench
