#pragma once
// Measures rows a second time, at the end, if something slowed the device down during the first.

#include <span>
#include <vector>

#include "harness/engine/assignment.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// The candidates of this work whose timing was throttled and that have not been measured again
/// yet, in the work's order. Problems without any are left out.
std::vector<Assignment> throttled_work(std::span<const Assignment> work,
                                       std::span<const Record> records);

/// The second record of a throttled candidate, with the first one's timing beside its own. A second
/// attempt without a time leaves the first record, with the reason added. Where the attempt failed,
/// the record takes its status, too.
Record measured_again(Record second, const Record& first);

/// Replaces the first record by the second one, by key_of(). @throws std::out_of_range where there
/// is no first record
const Record& replace_throttled(std::vector<Record>& records, const Record& second);

}  // namespace gla_bench
