#pragma once
// Measures the energy that a candidate takes, by the device's energy meter over repeated calls.

#include <cstdint>
#include <span>

#include "harness/backends/backend.hpp"
#include "harness/config/counting_policy.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// A reading of the meter at one moment of a window that is full of calls.
struct MeterReading {
  double seconds = 0;  ///< since the window began
  double joules = 0;   ///< since some moment in the past
};

/// Computes the energy of a call: the power between the first and the last step of the meter,
/// divided by the calls per second. The meter moves in steps of a tenth of a second, and between
/// steps a reading is old. What lies before the first step belongs partly to the time before the
/// calls. With fewer than three steps there is no figure, but a reason.
Energy energy_of(std::span<const MeterReading> readings, double seconds_per_call);

/// The number of calls in a batch of about five milliseconds. That is long compared with waiting
/// for the batch, and short compared with a step of the meter.
int calls_per_batch(double seconds_per_call);

/// Repeats the prepared candidate's calls while another thread reads the meter (a reading takes
/// milliseconds, in which the device would otherwise idle). It stops when the meter's steps have
/// covered `policy.seconds`, or have had twice the time to do so. @throws RunError
Energy measure_energy(Plan& plan, Backend& backend, double seconds_per_call,
                      const EnergyPolicy& policy);

}  // namespace gla_bench
