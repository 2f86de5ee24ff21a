#pragma once
// The part of Python's module gla_bench._core that gla_bench.ops calls.

#include <nanobind/nanobind.h>

namespace gla_bench {

/// Adds the classes Place and PlannedCall.
void add_ops(nanobind::module_& module);

}  // namespace gla_bench
