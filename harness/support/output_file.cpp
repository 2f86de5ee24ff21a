#include "harness/support/output_file.hpp"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/support/atomic_file.hpp"

namespace gla_bench {

namespace fs = std::filesystem;

namespace {

bool is_file(const NamedFile& file) {
  return !file.path.empty() && file.path != "-";
}

bool is_same(const std::string& one, const std::string& other) {
  struct stat first {
  }, second{};
  if (::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0)
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  std::error_code error;
  const fs::path here = fs::weakly_canonical(output_target(one).path, error);
  return !error && here == fs::weakly_canonical(output_target(other).path, error) && !error;
}

[[noreturn]] void refuse(const NamedFile& output, const NamedFile& other, const char* role) {
  throw InputError(output.what + " " + output.path + ": is the same file as " + other.what + " " +
                   other.path + ", which is " + role +
                   "; expected another file, and nothing was written");
}

}  // namespace

void expect_apart(std::span<const NamedFile> inputs, std::span<const NamedFile> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_file(outputs[i])) continue;
    for (const NamedFile& input : inputs)
      if (is_file(input) && is_same(outputs[i].path, input.path)) refuse(outputs[i], input, "read");
    for (std::size_t j = 0; j < i; ++j)
      if (is_file(outputs[j]) && is_same(outputs[i].path, outputs[j].path))
        refuse(outputs[i], outputs[j], "written, too");
  }
}

void make_folder_of(const std::string& path) {
  const OutputTarget target = output_target(path);
  if (target.kind == OutputTarget::Kind::folder)
    throw InputError(path + ": is a folder, expected a file");
  if (target.kind == OutputTarget::Kind::disk)
    throw InputError(path + ": is a disk, expected a file");
  const fs::path folder = fs::path(target.path).parent_path();
  if (folder.empty()) return;
  std::error_code error;
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
