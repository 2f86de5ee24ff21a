#pragma once
// The JSON Schema of configs.

#include "core/catalog.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Which variants a schema lets a sweep name: only those of its operator, or any name that a
/// variant could have. The latter schema does not change when a variant is added.
enum class VariantNames { known, any };

/// The schema of a config for the operators and variants of a catalog. A sweep that names an
/// operator must also satisfy that operator's own part, "sweep_of_<operator>".
Json config_schema(const Catalog& catalog, VariantNames names);

}  // namespace gla_bench
