#pragma once
// Which sources a candidate was made of, as one short text: `gate` names committed records whose
// kernels have changed since.

#include <string>

#include "core/variant.hpp"
#include "harness/backends/sources/source_store.hpp"

namespace gla_bench {

/// 16 hexadecimal digits over the paths and texts of the variant's sources and of everything that
/// they include transitively, in the order of their paths.
/// @throws InputError for a listed source that the store lacks, or when the variant lists none
std::string source_hash(const Variant& variant, const SourceStore& store);

/// The same among the sources inside the binary.
std::string source_hash(const Variant& variant);

}  // namespace gla_bench
