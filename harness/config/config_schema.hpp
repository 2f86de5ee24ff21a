#pragma once
// The JSON Schema of configs.

#include "core/catalog.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// What a config is, for the operators and variants of a catalog: a sweep that names an operator
/// must satisfy that operator's own part, "sweep_of_<operator>".
Json config_schema(const Catalog& catalog);

}  // namespace gla_bench
