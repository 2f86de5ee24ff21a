#pragma once
// What the planted variants of both backends share.

#include "core/variant.hpp"
#include "harness/selftest/planted_faults.h"

namespace gla_bench::planted {

/// Everything except backend, sources and code.
Variant common_variant(Fault fault, std::string_view name);

}  // namespace gla_bench::planted
