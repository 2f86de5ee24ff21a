#pragma once
// Files that a command was asked to write: one habit for all of them.

#include <string>
#include <string_view>

namespace gla_bench {

/// Makes the folder that a file is to lie in, where it is not there yet.
/// @throws InputError where the path names a folder or something else that is no file,
/// OutputError where the folder cannot be made
void make_folder_of(const std::string& path);

/// Puts a text in a file's place as replace_file() does and makes its folder before; "-" is
/// standard output. `kept` ends the message of an error: what is still there ("what it held is
/// kept").
/// @throws InputError and OutputError as make_folder_of(), OutputError where writing fails
void write_output(const std::string& path, std::string_view text, const std::string& kept = "");

}  // namespace gla_bench
