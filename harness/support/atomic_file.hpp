#pragma once
// Files that are whole at every instant: written under another name, flushed to the disk, and then
// renamed.

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/support/output_target.hpp"

namespace gla_bench {

/// The name under which replace_file() writes before it renames; nobody gives a file such a name. A
/// killed process leaves the file behind, and the next write overwrites it.
std::string temporary_name(const std::string& path);

/// A file that is written in pieces. It takes the place of the old one when keep() is called; until
/// then the old content is there, and afterwards the new. Links are followed to the file that they
/// name. What is no regular file (OutputTarget) receives each piece at once.
class ReplacedFile {
 public:
  /// `temporary`: the name to write under, beside the file. The caller keeps out simultaneous
  /// writers of it.
  ReplacedFile(const std::string& path, const std::string& temporary);
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;
  /// Removes what was not kept.
  ~ReplacedFile();

  /// Writes more. After a failure it does nothing.
  void write(std::string_view text);
  /// Flushes and renames. Returns the error number of the first failure, or 0.
  int keep();

 private:
  bool replaces() const { return target_.kind == OutputTarget::Kind::file; }

  OutputTarget target_;
  std::string temporary_;
  int descriptor_ = -1;
  int failure_ = 0;
};

/// Replaces a file's content by a text. A reader, also one after a power cut, sees either the old
/// content or the new, never a part. The caller must keep out simultaneous writers by a lock.
/// Returns the error number, or 0. After an error the old content is there and nothing else is.
int replace_file(const std::string& path, std::string_view text);

/// Writes all of the text at an offset. Returns the error number, or 0.
int write_at(int descriptor, std::string_view text, std::int64_t offset);

/// Flushes the names in a file's folder to the disk, where its file system can do so.
void sync_folder_of(const std::string& path);

}  // namespace gla_bench
