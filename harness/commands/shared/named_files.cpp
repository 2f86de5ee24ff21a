#include "harness/commands/shared/named_files.hpp"

#include "harness/config/candidates/candidates.hpp"
#include "harness/records/journal.hpp"

namespace gla_bench::commands {

NamedFiles results_files(const std::string& what, std::span<const std::string> paths) {
  NamedFiles files;
  for (const std::string& path : paths)
    if (!path.empty())
      files.insert(files.end(), {{what, path}, {what + "'s journal", journal_path(path)}});
  return files;
}

NamedFiles results_file(const std::string& what, const std::string& path) {
  return results_files(what, std::span(&path, 1));
}

NamedFiles config_files(const Config& config) {
  NamedFiles files;
  for (const std::string& path : files_of(config))
    files.push_back({path == config.path ? "the config" : "the config's file", path});
  return files;
}

NamedFiles candidate_files(const Catalog& catalog) {
  NamedFiles files;
  for (const Variant& variant : catalog.variants)
    for (const std::string& path : manifest_files(variant)) files.push_back({"--candidates", path});
  return files;
}

NamedFiles together(NamedFiles first, const NamedFiles& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace gla_bench::commands
