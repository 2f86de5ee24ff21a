#pragma once
// Where a path leads that a user gave for an output.

#include <string>

namespace gla_bench {

/// A file is replaced as a whole. Everything else is written through, never renamed over: a device,
/// a pipe, and what this process has open already (/dev/stdout, /dev/fd/5).
struct OutputTarget {
  enum class Kind { file, open_descriptor, special, folder, disk };
  Kind kind = Kind::file;
  std::string path;     ///< with links followed; it need not exist
  int descriptor = -1;  ///< of an open_descriptor
};

/// Follows the links at the path's end. A path that is no link stays as it stands.
OutputTarget output_target(const std::string& path);

}  // namespace gla_bench
