#pragma once
// The part of an exported header that is the same for every table.

#include <string_view>

namespace gla_bench {

/// Includes and types, up to the data; `namespace gla_bench_tuned` is open behind it.
extern const std::string_view header_types;

/// The search for the nearest entry; stands behind the types.
extern const std::string_view header_search;

}  // namespace gla_bench
