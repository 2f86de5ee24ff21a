#pragma once
// Binaries kept on disk between runs. One file an entry; entries are only ever added whole, so that
// any number of processes may share a folder.

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "harness/backends/cuda/build/nvrtc.hpp"

namespace gla_bench::cuda {

/// <XDG_CACHE_HOME or ~/.cache>/gla-bench; empty when the user has neither.
std::filesystem::path user_cache_folder();

class BuildCache {
 public:
  /// An empty folder: nothing is kept. `warn` is called once, when the folder can not be written.
  BuildCache(std::filesystem::path folder, std::function<void(const std::string&)> warn);

  /// The binary kept under exactly this key, or nothing: also for an entry that is truncated,
  /// damaged or of another format, which the next store() replaces.
  std::optional<Binary> load(const std::string& key) const;

  /// Keeps the binary: written beside its place, synchronised, then renamed. Never throws: a folder
  /// that can not be written is a warning.
  void store(const std::string& key, const Binary& binary);

  /// Where the entry for a key lies.
  std::filesystem::path path_of(const std::string& key) const;

 private:
  void warn_once(const std::string& reason);

  std::filesystem::path folder_;
  std::function<void(const std::string&)> warn_;
  std::once_flag warned_;
};

}  // namespace gla_bench::cuda
