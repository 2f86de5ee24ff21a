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
/// energy. It has the bytes read and written; these over the model's, with "!" where they differ by
/// more than a tenth on a problem of at least twice the last-level cache; what the multiprocessors
/// asked that cache for, over the model's; the counted bytes over the floor's; and the energy.
/// `last_level_cache` is in bytes, or 0 where it is not known: then nothing is marked. Empty where
/// no record has any of these.
Table measured_table(std::span<const Record* const> records, double last_level_cache);

}  // namespace gla_bench
