// The option --candidates.

#include "harness/commands/commands.hpp"
#include "harness/config/candidates/candidates.hpp"

namespace gla_bench::commands {

void CandidateOptions::add_to(CLI::App& command) {
  command
      .add_option("--candidates", manifests,
                  "the manifest of a kernel of your own, or a function in Python as file.py:name, "
                  "which is then one variant more (may be given often; gla-bench init writes an "
                  "example)")
      ->type_name("MANIFEST|FUNCTION")
      ->allow_extra_args(false);
}

Catalog CandidateOptions::catalog() const {
  Catalog catalog = program_catalog();
  for (const std::string& path : manifests) catalog = with_manifest(catalog, path);
  return catalog;
}

std::vector<std::string> candidate_arguments(const std::vector<std::string>& manifests) {
  std::vector<std::string> list;
  for (const std::string& path : manifests) list.insert(list.end(), {"--candidates", path});
  return list;
}

}  // namespace gla_bench::commands
