// The files that a config depends on.

#include "harness/config/candidates/candidates.hpp"
#include "harness/config/config.hpp"

namespace gla_bench {

std::vector<std::string> files_of(const Config& config) {
  std::vector<std::string> files{config.path};
  for (const std::string& named : {config.policy.tolerance, config.tuned})
    if (!named.empty()) files.push_back(named);
  for (const Variant& variant : config.catalog.variants)
    for (const std::string& file : manifest_files(variant)) files.push_back(file);
  for (const Sweep& sweep : config.sweeps) {
    if (sweep.tensors) files.push_back(sweep.tensors->file);
    for (const auto& [variant, narrowing] : sweep.tiles)
      if (!narrowing.file.empty()) files.push_back(narrowing.file);
  }
  return files;
}

}  // namespace gla_bench
