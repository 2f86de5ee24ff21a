#pragma once
// Files that are whole at every instant: written under another name, handed to the disk, renamed.

#include <cstdint>
#include <string>
#include <string_view>

namespace gla_bench {

/// Where replace_file() writes before it renames: left behind by a kill, overwritten by the next.
std::string temporary_name(const std::string& path);

/// Puts a text in a file's place. A reader, also one after a power cut, sees the old content or the
/// new, never a part. Of two writers at the same time one must have been kept out by a lock.
/// Returns the error number, or 0; after an error the old content is there and nothing else is.
int replace_file(const std::string& path, std::string_view text);

/// Writes all of it at an offset; the error number, or 0.
int write_at(int descriptor, std::string_view text, std::int64_t offset);

/// Hands the names in a file's folder to the disk, where its file system can do so.
void sync_folder_of(const std::string& path);

}  // namespace gla_bench
