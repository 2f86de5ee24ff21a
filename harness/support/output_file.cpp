#include "harness/support/output_file.hpp"

#include <cstring>
#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/support/atomic_file.hpp"

namespace gla_bench {

namespace fs = std::filesystem;

void make_folder_of(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    throw InputError(path + ": is " + (fs::is_directory(path, error) ? "a folder" : "no file") +
                     ", expected a file");
  const fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) return;
  fs::create_directories(folder, error);
  if (error) throw OutputError(path + ": its folder cannot be made: " + error.message());
}

void write_output(const std::string& path, std::string_view text, const std::string& kept) {
  if (path == "-") {
    std::cout << text;
    return;
  }
  make_folder_of(path);
  if (const int error = replace_file(path, text))
    throw OutputError(path + ": cannot be written: " + std::strerror(error) +
                      (kept.empty() ? "" : "; " + kept));
}

}  // namespace gla_bench
