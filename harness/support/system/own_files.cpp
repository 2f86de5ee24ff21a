#include "harness/support/system/own_files.hpp"

#include <cstdlib>
#include <filesystem>

namespace gla_bench {

namespace fs = std::filesystem;

std::string user_data_folder() {
  // Relative values count as not set (XDG Base Directory Specification).
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && fs::path(data).is_absolute())
    return (fs::path(data) / "gla-bench").string();
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == 0) return {};
  return (fs::path(home) / ".local/share/gla-bench").string();
}

std::string program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string installed_file(const std::string& path) {
  const std::string folder = program_folder();
  if (folder.empty() || fs::path(path).is_absolute()) return {};
  const fs::path file =
      (fs::path(folder).parent_path() / "share" / "gla-bench" / path).lexically_normal();
  std::error_code error;
  return fs::is_regular_file(file, error) ? file.string() : std::string();
}

std::string existing_or_installed(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const std::string installed = installed_file(path);
  return installed.empty() ? path : installed;
}

}  // namespace gla_bench
