#include "harness/support/system/own_files.hpp"

#include <algorithm>
#include <cctype>
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

namespace {

std::string& folder_as_said() {
  static std::string folder;
  return folder;
}

}  // namespace

void set_program_folder(const std::string& folder) {
  folder_as_said() = folder;
}

std::string program_folder() {
  if (!folder_as_said().empty()) return folder_as_said();
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

namespace {

/// The folders of what is known of devices, the user's first.
std::vector<fs::path> device_folders() {
  std::vector<fs::path> list;
  const fs::path data = user_data_folder(), program = program_folder();
  if (!data.empty()) list.push_back(data / "tuned");
  if (program.empty()) return list;
  list.push_back((program.parent_path() / "share/gla-bench/tuned").lexically_normal());
  list.push_back(program.parent_path() / "results/tuned");
  return list;
}

}  // namespace

std::optional<std::string> device_file(const std::string& name) {
  std::error_code ignored;
  for (const fs::path& folder : device_folders())
    if (fs::is_regular_file(folder / name, ignored)) return (folder / name).string();
  return std::nullopt;
}

std::vector<std::string> device_files(const std::string& ending) {
  std::vector<std::string> names;
  for (const fs::path& folder : device_folders()) {
    std::error_code ignored;
    std::vector<std::string> here;
    for (const fs::directory_entry& file : fs::directory_iterator(folder, ignored))
      if (const std::string name = file.path().filename().string(); name.ends_with(ending))
        here.push_back(name);
    std::sort(here.begin(), here.end());
    for (std::string& name : here)
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
  }
  return names;
}

std::string device_slug(const std::string& device) {
  std::string slug;
  for (const char c : device) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && std::isalnum(byte) != 0)
      slug += static_cast<char>(std::tolower(byte));
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "unknown" : slug;
}

std::string existing_or_installed(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const std::string installed = installed_file(path);
  return installed.empty() ? path : installed;
}

}  // namespace gla_bench
