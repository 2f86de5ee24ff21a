#pragma once
// What a device can do, as far as a prediction of times needs it.

#include "harness/support/facts.hpp"

namespace gla_bench::cost_model {

struct DeviceRates {
  double multiprocessors = 0;
  double copy_bytes_per_second = 0;      ///< bytes read plus bytes written
  double matrix_flops_per_second = 0;    ///< of a large matrix product in bfloat16
  double last_level_cache = 0;           ///< bytes
  double shared_per_multiprocessor = 0;  ///< bytes
  double threads_per_multiprocessor = 0;
};

/// The rates in a results file's environment. Its measured ceilings are taken where it has them.
/// @throws InputError where a fact is missing without which nothing can be predicted
DeviceRates device_rates(const Facts& environment);

/// The facts of an environment, and beside them those of the other environment that it lacks.
Facts completed(Facts environment, const Facts& other);

}  // namespace gla_bench::cost_model
