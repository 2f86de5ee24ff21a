#include "harness/support/processor_clock.hpp"

#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "harness/support/elapsed.hpp"

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

double measured_rate() {
  constexpr double seconds = 5e-3;
  const auto before = processor_ticks();
  if (!before) return 0;
  const auto start = Clock::now();
  while (seconds_since(start) < seconds) {
  }
  const double ticks = static_cast<double>(*processor_ticks() - *before);
  return ticks / seconds_since(start);
}

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

double processor_ticks_per_second() {
  static const double rate = measured_rate();
  return rate;
}

bool clocks_differ(double seconds, double seconds_by_processor) {
  constexpr double factor = 1.25, slack = 1e-3;
  const double difference = std::abs(seconds - seconds_by_processor);
  return !(difference <= slack) &&
         !(seconds <= factor * seconds_by_processor && seconds_by_processor <= factor * seconds);
}

TwoClocks::TwoClocks()
    : rate_(processor_ticks_per_second()),
      ticks_(processor_ticks()),
      nanoseconds_(steady_nanoseconds()) {}

bool TwoClocks::differ() const {
  const auto now = processor_ticks();
  if (!(rate_ > 0) || !now || !ticks_) return false;
  const double seconds = static_cast<double>(steady_nanoseconds() - nanoseconds_) * 1e-9;
  return clocks_differ(seconds, static_cast<double>(*now - *ticks_) / rate_);
}

}  // namespace gla_bench
