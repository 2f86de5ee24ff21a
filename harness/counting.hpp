#pragma once
// What is read of a measured candidate after its timing: the device's counters and its energy
// meter.

#include "harness/backend.hpp"
#include "harness/counting_policy.hpp"
#include "harness/record.hpp"

namespace gla_bench {

/// Whether a pass that `of` names takes in this candidate; `best` as for record_counts().
bool takes_in(Which of, bool best);

/// Fills in `io.measured` and `energy` of a record that is timed and right; `plan` is prepared, and
/// what it leaves in the outputs is judged no more. `best`: no candidate of its variant was faster
/// on the problem so far. Whatever goes wrong, the timing stands: a fault is a reason.
/// @throws DeviceLost, with the reasons filled in
void record_counts(Plan& plan, Backend& backend, const CounterPolicy& counters,
                   const EnergyPolicy& energy, bool best, Record& record);

}  // namespace gla_bench
