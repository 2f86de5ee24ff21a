#pragma once
// Kernels from outside the program as variants of a catalog: manifests and their sources as files.

#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// The catalog with the variant of a manifest besides its own. A manifest that the catalog has is
/// not read again. @throws InputError for a bad manifest, a source that cannot be read or includes
/// what the manifest does not list, and a variant that the catalog has already
Catalog with_manifest(const Catalog& catalog, const std::string& path);

/// The same for a list of paths in a config, relative to `folder`. @throws InputError
Catalog with_manifests(Catalog catalog, const JsonNode& paths, const std::string& folder);

/// The paths of a catalog's manifests, as they were given.
std::vector<std::string> manifests_of(const Catalog& catalog);

/// The paths of a variant's manifest and sources; none for the program's own.
std::vector<std::string> manifest_files(const Variant& variant);

}  // namespace gla_bench
