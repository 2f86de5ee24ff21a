#pragma once
// The kernels' sources: those inside the binary, or those of a folder while kernels are being
// written.

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

/// Path below kernels/ ("linear_recurrence/recurrent/recurrent.cuh"), or from the root of the tree
/// for what lies elsewhere ("reference/...", "harness/backends/cuda/..."); and the whole text.
struct Source {
  std::string_view path;
  std::string_view text;
};

/// The sources that the build put inside the binary (cmake/EmbedSources.cmake), sorted by file
/// name.
std::span<const Source> embedded_sources();

/// The sources inside the binary that decide whether a candidate is right. No store has them.
std::span<const Source> embedded_verifier();

/// Sources by path, and what they include of one another. Immutable after construction.
class SourceStore {
 public:
  /// Those inside the binary.
  SourceStore();
  /// Those of a kernels/ folder in place of the binary's; reference/ and harness/backends/cuda/
  /// beside the folder are read as well, and come from the binary where there are none.
  /// @throws InputError when the folder can not be read
  explicit SourceStore(const std::filesystem::path& kernels_folder);
  /// The given ones alone, by path.
  explicit SourceStore(std::map<std::string, std::string> sources);

  /// Of all its sources, sorted.
  std::vector<std::string> paths() const;

  /// Nothing for an unknown path.
  const std::string* find(std::string_view path) const;

  /// True for the path of a folder with its slash at the end, where the store has something in it.
  bool has_folder(std::string_view path) const;

  /// Path in the store of what `includer` includes as "written": beside the includer, below
  /// kernels/, or from the root with the prefix "kernels/". Nothing when the store has none (a
  /// header of the harness).
  std::optional<std::string> resolve(std::string_view includer, std::string_view written) const;

  /// The given sources and everything that they include transitively, sorted by path, each once.
  /// @throws InputError naming a given path that the store lacks
  std::vector<Source> closure(std::span<const std::string> paths) const;

  /// The text of a source in which every include that the store resolves is spelled with its path
  /// in the store, on the same line: NVRTC finds in-memory headers by exactly that spelling.
  std::string with_full_includes(const Source& source) const;

 private:
  std::map<std::string, std::string, std::less<>> sources_;
};

}  // namespace gla_bench
