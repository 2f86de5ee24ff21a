#pragma once
// Files that are whole at every instant: written under another name, flushed to the disk, and then
// renamed.

#include <cstdint>
#include <string>
#include <string_view>

namespace gla_bench {

/// The name under which replace_file() writes before it renames. A killed process leaves the file
/// behind, and the next write overwrites it.
std::string temporary_name(const std::string& path);

/// Replaces a file's content by a text. A reader, also one after a power cut, sees either the old
/// content or the new, never a part. The caller must keep out simultaneous writers by a lock.
/// Returns the error number, or 0. After an error the old content is there and nothing else is.
int replace_file(const std::string& path, std::string_view text);

/// Writes all of the text at an offset. Returns the error number, or 0.
int write_at(int descriptor, std::string_view text, std::int64_t offset);

/// Flushes the names in a file's folder to the disk, where its file system can do so.
void sync_folder_of(const std::string& path);

}  // namespace gla_bench
