#pragma once
// What a candidate takes: the device's energy meter over repeated calls.

#include <cstdint>
#include <span>

#include "harness/backends/backend.hpp"
#include "harness/config/counting_policy.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// The meter, read at some moment of a window that is full of calls.
struct MeterReading {
  double seconds = 0;  ///< since the window began
  double joules = 0;   ///< since some moment in the past
};

/// The power between the first and the last step of the meter, over the calls that go into a
/// second: it moves in steps of a tenth of a second, between which a reading is old, and what lies
/// before the first step is partly what was there before the calls. Without three steps there is no
/// figure, but a reason.
Energy energy_of(std::span<const MeterReading> readings, double seconds_per_call);

/// Calls in a batch of about five milliseconds: long beside waiting for it, short beside a step.
int calls_per_batch(double seconds_per_call);

/// Repeats the prepared candidate's calls, the meter being read from another thread meanwhile (a
/// reading takes milliseconds, in which the device would idle), until its steps have covered
/// `policy.seconds` or have had the time to do so twice. @throws RunError
Energy measure_energy(Plan& plan, Backend& backend, double seconds_per_call,
                      const EnergyPolicy& policy);

}  // namespace gla_bench
