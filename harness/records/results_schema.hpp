#pragma once
// The JSON Schema of results files.

#include "harness/support/json.hpp"

namespace gla_bench {

/// What a results file is, made of what the structs of a record declare of their fields.
Json results_schema();

}  // namespace gla_bench
