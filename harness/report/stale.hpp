#pragma once
// Which records are of other code than this program's.

#include <cstddef>
#include <span>

#include "harness/records/record_file.hpp"

namespace gla_bench {

/// Whether the code that the record's candidate is made of has changed since, or is gone: its time
/// is not that of today's code. False for peers, and for records that do not say what they are made
/// of.
bool is_stale(const Record& record);

/// How many of the files' records are.
std::size_t count_stale(std::span<const Results> files);

}  // namespace gla_bench
