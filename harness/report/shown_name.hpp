#pragma once
// What reports call the candidate of a record.

#include <string>

#include "harness/records/record.hpp"

namespace gla_bench {

/// The variant's name. One that rounds its float32 inputs to tf32 is told apart:
/// "chunk_materialized (tf32)".
std::string shown_name(const Record& record);

}  // namespace gla_bench
