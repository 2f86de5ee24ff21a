#pragma once
// What the device counted and used, for people: a part of a report (report.hpp).

#include <span>

#include "harness/records/record.hpp"
#include "harness/support/table.hpp"

namespace gla_bench {

/// Bytes read from and written to device memory by one call, as counted; NaN where they were not.
double measured_bytes(const Record& record);

/// Measured over modelled bytes; NaN where either is missing.
double measured_over_model(const Record& record);

/// A line for each of these records that has counted bytes, a reason why a GPU counted none, or
/// energy: bytes read and written, over the model's (with "!" where they are more than a tenth off
/// on a problem of twice the last-level cache and more), what the multiprocessors asked that cache
/// for over the model's, counted over the floor's bytes, energy. `last_level_cache` in bytes, 0
/// where it is not known: then nothing is marked. Empty where no record has any.
Table measured_table(std::span<const Record* const> records, double last_level_cache);

}  // namespace gla_bench
