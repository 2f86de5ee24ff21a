#pragma once
// Rows that were measured while something slowed the device down get a second chance at the end.

#include <span>
#include <vector>

#include "harness/engine/assignment.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// Of this work, the candidates whose record is of a throttled timing and that have not been
/// measured again yet, in the work's order; problems without any are left out.
std::vector<Assignment> throttled_work(std::span<const Assignment> work,
                                       std::span<const Record> records);

/// The second record of a throttled candidate, with the first one's timing beside its own. A second
/// attempt that came to no time leaves the first record with the reason; where it failed, with its
/// status, too.
Record measured_again(Record second, const Record& first);

/// Puts a second record in its first one's place, by key_of(). @throws std::out_of_range where
/// there is no first
const Record& replace_throttled(std::vector<Record>& records, const Record& second);

}  // namespace gla_bench
