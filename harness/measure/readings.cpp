#include "harness/measure/readings.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "harness/backends/counters.hpp"
#include "harness/measure/energy.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

CounterReading no_figures(CounterSource source, std::string reason) {
  CounterReading reading;
  reading.source = source;
  reading.reason = std::move(reason);
  return reading;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

void count(Plan& plan, const CounterPolicy& policy, bool best, CounterReading& reading) {
  if (!takes_in(policy.of, best)) {
    reading =
        no_figures(CounterSource::not_asked,
                   policy.of == Which::none ? "the config asks for none"
                                            : "not the fastest of its variant when its turn came");
    return;
  }
  try {
    reading = plan.count(with_io_metrics(policy.metrics));
  } catch (const RunError& error) {
    reading = no_figures(CounterSource::failed, error.what());
    if (dynamic_cast<const DeviceLost*>(&error) != nullptr) throw;
  }
}

/// The time of a single call includes its launches. Back to back they overlap, so that time is used
/// where it is known.
double seconds_per_call(const Timing& timing) {
  return (timing.hot ? timing.hot->median_ms : timing.cold.median_ms) * 1e-3;
}

}  // namespace

bool takes_in(Which of, bool best) {
  return of == Which::all || (of == Which::best && best);
}

std::string plan_counters(const CounterPolicy& policy, const Backend& backend,
                          const std::string& config) {
  if (policy.of == Which::none) return "none: the config asks for none";
  const std::vector<std::string> metrics = with_io_metrics(policy.metrics);
  const CounterCheck check = backend.check_counters(metrics);
  if (check.source != CounterSource::cupti)
    return "none: " + std::string(name(check.source)) + ", " + check.reason;
  for (std::size_t i = 0; i < policy.metrics.size(); ++i)
    if (contains(check.unknown, policy.metrics[i]))
      throw InputError(config + ": /policy/counters/metrics: found \"" + policy.metrics[i] +
                       "\", expected a metric of this architecture's profiler (`ncu "
                       "--query-metrics` lists them, with a suffix as .sum)");
  std::string text = std::to_string(metrics.size() - check.unknown.size()) + " metrics in " +
                     std::to_string(check.passes) + (check.passes == 1 ? " pass" : " passes");
  if (!check.unknown.empty()) text += ", without " + join(check.unknown) + ", which the chip lacks";
  return text;
}

void record_readings(Plan& plan, Backend& backend, const CounterPolicy& counters,
                     const EnergyPolicy& energy, bool best, Record& record) {
  count(plan, counters, best, record.io.measured.emplace());
  if (!takes_in(energy.of, best)) return;
  try {
    record.energy = measure_energy(plan, backend, seconds_per_call(*record.timing), energy);
  } catch (const RunError& error) {
    record.energy.emplace().reason = error.what();
    if (dynamic_cast<const DeviceLost*>(&error) != nullptr) throw;
  }
}

}  // namespace gla_bench
