#pragma once
// What a command reads and writes, for expect_apart() (support/output_file.hpp).

#include <span>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench::commands {

using NamedFiles = std::vector<NamedFile>;

/// Results files and their journals. `what`: "--against", "the results file".
NamedFiles results_files(const std::string& what, std::span<const std::string> paths);
NamedFiles results_file(const std::string& what, const std::string& path);

/// A config and the files that it names.
NamedFiles config_files(const Config& config);

/// The manifests and sources of a catalog's variants from outside the program.
NamedFiles candidate_files(const Catalog& catalog);

/// All of them in one list.
NamedFiles together(NamedFiles first, const NamedFiles& second);

}  // namespace gla_bench::commands
