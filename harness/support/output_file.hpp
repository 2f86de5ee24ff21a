#pragma once
// Writes the files that a command was asked for, all in the same way.

#include <string>
#include <string_view>

namespace gla_bench {

/// Makes the folder that a file is to lie in, where it is not there yet.
/// @throws InputError where the path names a folder or something else that is no file,
/// OutputError where the folder cannot be made
void make_folder_of(const std::string& path);

/// Replaces a file's content as replace_file() does, after making its folder. "-" is standard
/// output. `kept` ends the message of an error and says what is still there ("what it held is
/// kept").
/// @throws InputError and OutputError as make_folder_of(), OutputError where writing fails
void write_output(const std::string& path, std::string_view text, const std::string& kept = "");

}  // namespace gla_bench
