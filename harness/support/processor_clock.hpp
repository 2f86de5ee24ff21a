#pragma once
// A second clock, which no library function tells: the processor's own counter.

#include <cstdint>
#include <functional>
#include <optional>

namespace gla_bench {

/// The counter; nothing on a processor whose counter is not known to run at one rate.
std::optional<std::uint64_t> processor_ticks();

/// What both clocks show at one moment.
struct ClockReading {
  std::optional<std::uint64_t> ticks;
  std::int64_t nanoseconds = 0;  ///< of the steady clock
};

using ClockReader = std::function<ClockReading()>;

/// The closest of three readings: the one during which the counter ran least. A thread that is set
/// aside between the two clocks would see a difference that neither of them has.
ClockReading closest_reading(const std::function<std::optional<std::uint64_t>()>& ticks,
                             const std::function<std::int64_t()>& nanoseconds);

/// The same of this machine's clocks.
ClockReading read_clocks();

/// How fast the counter runs: the median of five spans of two milliseconds, so that one jump of
/// either clock does not count. 0 without a counter.
double measured_ticks_per_second(const ClockReader& read);

/// The same by read_clocks(), measured once. The first call takes ten milliseconds, and has to come
/// before any code that could have changed the steady clock.
double processor_ticks_per_second();

/// True where the two clocks tell of different times: by a quarter, and more than a millisecond.
bool clocks_differ(double seconds, double seconds_by_processor);

/// Runs from its construction on, by both clocks.
class TwoClocks {
 public:
  explicit TwoClocks(ClockReader read = read_clocks);
  bool differ() const;

 private:
  ClockReader read_;
  ClockReading start_;
};

}  // namespace gla_bench
