#pragma once
// A problem's dtype in JSON.

#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// A dtype by any name that parse_dtype() takes. @throws InputError for anything else
DType read_dtype(const JsonNode& node);

}  // namespace gla_bench
