#pragma once
// What the planted variants of both backends share.

#include "harness/selftest/planted_faults.h"
#include "harness/variant.hpp"

namespace gla_bench::planted {

/// Everything but backend, sources and code.
Variant common_variant(Fault fault, std::string_view name);

}  // namespace gla_bench::planted
