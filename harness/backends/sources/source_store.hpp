#pragma once
// The kernels' sources: those inside the binary or, during development of kernels, those of a
// folder.

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

/// A path and the complete text. The path is relative to kernels/
/// ("linear_recurrence/recurrent/recurrent.cuh"), or to the root of the tree for files elsewhere
/// ("reference/...", "harness/backends/cuda/...").
struct Source {
  std::string_view path;
  std::string_view text;
};

/// The sources that the build put into the binary (cmake/EmbedSources.cmake), sorted by file name.
std::span<const Source> embedded_sources();

/// The sources inside the binary that decide whether a candidate is correct. No store contains
/// them.
std::span<const Source> embedded_verifier();

/// What the self-test brings in from outside (harness/selftest/exploits/). No store contains them.
std::span<const Source> embedded_exploits();

/// The example kernels and their manifests, below examples/, which `gla-bench init` writes. No store
/// contains them.
std::span<const Source> embedded_examples();

/// Sources by path, and which of them include each other. Immutable after construction.
class SourceStore {
 public:
  /// Uses the sources inside the binary.
  SourceStore();
  /// Uses the sources of a kernels/ folder instead. reference/ and harness/backends/cuda/ next to
  /// the folder are read as well. Where they do not exist, their sources come from the binary.
  /// @throws InputError when the folder cannot be read
  explicit SourceStore(const std::filesystem::path& kernels_folder);
  /// Uses only the given sources, by path.
  explicit SourceStore(std::map<std::string, std::string> sources);

  /// The paths of all sources, sorted.
  std::vector<std::string> paths() const;

  /// Returns null for an unknown path.
  const std::string* find(std::string_view path) const;

  /// Whether the path is a folder, with a slash at the end, that contains something in the store.
  bool has_folder(std::string_view path) const;

  /// The path in the store of the file that `includer` includes as "written". It is looked up next
  /// to the includer, below kernels/, and from the root with the prefix "kernels/". Returns nothing
  /// when the store does not have it (a header of the harness).
  std::optional<std::string> resolve(std::string_view includer, std::string_view written) const;

  /// The given sources and everything that they include transitively, each once, sorted by path.
  /// @throws InputError naming a given path that the store lacks
  std::vector<Source> closure(std::span<const std::string> paths) const;

  /// What a source includes in quotes and the store does not have, as it is written there.
  std::vector<std::string> missing_includes(const Source& source) const;

  /// The text of a source in which every include that the store resolves is replaced by its path in
  /// the store, on the same line. NVRTC finds in-memory headers only by exactly this path.
  std::string with_full_includes(const Source& source) const;

  /// A text that includes sources of the store (prologue.hpp), with each of them in place of its
  /// first include, and without `#pragma once`. It needs no file but those of <...> includes, which
  /// stand once each at the beginning.
  std::string in_one(const std::string& text) const;

 private:
  std::map<std::string, std::string, std::less<>> sources_;
};

}  // namespace gla_bench
