// The substitute for builds whose toolkit has no headers of CUPTI's range profiler.

#include "harness/backends/cuda/counters/counters.hpp"

namespace gla_bench::cuda {
namespace {

constexpr const char* why_not =
    "built with a toolkit without the headers of CUPTI's range profiler (cupti_range_profiler.h)";

class NoReader : public CounterReader {
 public:
  CounterReading read(std::span<const std::string>, const CountedWork&) override {
    CounterReading reading;
    reading.source = CounterSource::absent;
    reading.reason = why_not;
    return reading;
  }
};

}  // namespace

std::unique_ptr<CounterReader> make_counter_reader(int) {
  return std::make_unique<NoReader>();
}

CounterCheck check_counters(std::span<const std::string>, int) {
  CounterCheck check;
  check.source = CounterSource::absent;
  check.reason = why_not;
  return check;
}

}  // namespace gla_bench::cuda
