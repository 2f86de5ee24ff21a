#pragma once
// Readings of a measured candidate after its timing: the device's counters and its energy meter.

#include <string>

#include "harness/backends/backend.hpp"
#include "harness/config/counting_policy.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// Whether a reading that `of` selects is taken of this candidate. `best` is as for
/// record_readings().
bool takes_in(Which of, bool best);

/// "10 metrics in 1 pass", "11 metrics in 2 passes, without dram__bytes_read.sum, which the chip
/// lacks", or "none: ...": what would be counted of a candidate on this backend's architecture;
/// needs no device. `config` is the file that the policy stands in. @throws InputError for a metric
/// that the config names and the chip lacks
std::string plan_counters(const CounterPolicy& policy, const Backend& backend,
                          const std::string& config);

/// Fills in `io.measured` and `energy` of a record that is timed and right. `plan` must be
/// prepared; its outputs are not judged again afterwards. `best`: no candidate of its variant was
/// faster on the problem so far. The timing stands whatever goes wrong: a fault is recorded as a
/// reason.
/// @throws DeviceLost, with the reasons filled in
void record_readings(Plan& plan, Backend& backend, const CounterPolicy& counters,
                     const EnergyPolicy& energy, bool best, Record& record);

}  // namespace gla_bench
