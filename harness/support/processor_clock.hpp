#pragma once
// A second clock, which no library function tells: the processor's own counter.

#include <cstdint>
#include <optional>

namespace gla_bench {

/// The counter; nothing on a processor whose counter is not known to run at one rate.
std::optional<std::uint64_t> processor_ticks();

/// How fast the counter runs. The first call takes some milliseconds to compare it with the steady
/// clock, and has to come before any code that could have changed that clock. 0 without a counter.
double processor_ticks_per_second();

/// True where the two clocks tell of different times: by a quarter, and more than a millisecond.
bool clocks_differ(double seconds, double seconds_by_processor);

/// Runs from its construction on, by both clocks.
class TwoClocks {
 public:
  TwoClocks();
  bool differ() const;

 private:
  double rate_;
  std::optional<std::uint64_t> ticks_;
  std::int64_t nanoseconds_;
};

}  // namespace gla_bench
