#pragma once
// Binaries kept on disk between runs, with one file for each entry. Entries are only ever added as
// a whole, so any number of processes may share a folder. What is loaded is run on the device with
// the rights of this process: a folder into which others may write is refused.

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "harness/backends/cuda/build/nvrtc.hpp"

namespace gla_bench::cuda {

/// <XDG_CACHE_HOME or ~/.cache>/gla-bench; empty when the user has neither.
std::filesystem::path user_cache_folder();

/// Others than this process's user may change what the cache holds.
struct UnsafeCache : InputError {
  using InputError::InputError;
};

class BuildCache {
 public:
  /// With an empty folder nothing is kept. `warn` is called once, when the folder cannot be
  /// written.
  BuildCache(std::filesystem::path folder, std::function<void(const std::string&)> warn);

  /// The binary kept under exactly this key. Nothing if there is none, or if the entry is
  /// truncated, damaged or of another format. The next store() replaces such an entry. @throws
  /// UnsafeCache where the folder or the entry belongs to another user, or where the group or
  /// others may write to it
  std::optional<Binary> load(const std::string& key) const;

  /// Keeps the binary: writes it to a temporary file next to its place, synchronises it, then
  /// renames it. A folder that it makes is the user's alone. A folder that cannot be written causes
  /// a warning, and nothing is thrown.
  void store(const std::string& key, const Binary& binary);

  /// The path of the entry for a key.
  std::filesystem::path path_of(const std::string& key) const;

 private:
  void warn_once(const std::string& reason);

  std::filesystem::path folder_;
  std::function<void(const std::string&)> warn_;
  std::once_flag warned_;
};

}  // namespace gla_bench::cuda
