#pragma once
// A manifest as a variant.

#include "harness/config/candidates/manifest.hpp"

namespace gla_bench {

/// The variant that a manifest describes. `op` and what it refers to must outlive it. It refuses a
/// problem with an input that only some problems have and that nothing takes, one with an output
/// that no launch of a kernel takes, and whatever makes an expression have no value or a launch
/// impossible.
/// @param folder the manifest's, empty for the present one
/// @param texts the manifest's sources, by path; `source` is one of them
Variant variant_of(const Manifest& manifest, const Operator& op, const std::string& folder,
                   SourceTexts texts);

}  // namespace gla_bench
