#pragma once
// The JSON Schema of configs.

#include "core/catalog.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Which variants a schema lets a sweep name: those of its operator, or whatever could be one, so
/// that the schema stays as it is when a variant is added.
enum class VariantNames { known, any };

/// What a config is, for the operators and variants of a catalog: a sweep that names an operator
/// must satisfy that operator's own part, "sweep_of_<operator>".
Json config_schema(const Catalog& catalog, VariantNames names);

}  // namespace gla_bench
