#pragma once
// Writes the files that a command was asked for, all in the same way.

#include <span>
#include <string>
#include <string_view>

namespace gla_bench {

/// A file as the user named it.
struct NamedFile {
  std::string what;  ///< "--csv", "the config"
  std::string path;  ///< empty or "-": no file
};

/// Refuses a command line by which an output would replace an input, or another output. To be
/// called before anything is written. Files are the same by their device and number, and those that
/// are not there yet by their path with links followed. What is no regular file loses nothing.
/// @throws InputError "--csv a.json: is a.json itself, which ..."
void expect_apart(std::span<const NamedFile> inputs, std::span<const NamedFile> outputs);

/// Makes the folder that a file is to lie in, where it is not there yet.
/// @throws InputError where the path names a folder or a disk, OutputError where the folder cannot
/// be made
void make_folder_of(const std::string& path);

/// Replaces a file's content as replace_file() does, after making its folder. "-" is standard
/// output. `kept` ends the message of an error and says what is still there ("what it held is
/// kept").
/// @throws InputError and OutputError as make_folder_of(), OutputError where writing fails
void write_output(const std::string& path, std::string_view text, const std::string& kept = "");

}  // namespace gla_bench
