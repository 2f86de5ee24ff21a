#include "harness/backends/cuda/toolkit/toolkit.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace gla_bench::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int built_major = CUDART_VERSION / 1000;

// /usr/local/cuda-13.1, /usr/local/cuda-13.0, ..: the newest first, judged by the names.
std::vector<std::string> versioned_folders() {
  std::vector<std::string> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/local", error))
    if (entry.path().filename().string().starts_with("cuda-"))
      folders.push_back(entry.path().string());
  std::sort(folders.rbegin(), folders.rend());
  return folders;
}

void append_folder(std::vector<std::string>& folders, const std::string& folder) {
  std::error_code error;
  if (folder.empty() || !fs::is_directory(folder, error)) return;
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

}  // namespace

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable)) append_folder(folders, value);
  append_folder(folders, fs::path(GLA_BENCH_CUDA_INCLUDE_DIR).parent_path().string());
  append_folder(folders, "/usr/local/cuda");
  append_folder(folders, "/usr/local/cuda-" + std::to_string(built_major));
  for (const std::string& folder : versioned_folders()) append_folder(folders, folder);
  append_folder(folders, "/opt/cuda");
  return folders;
}

std::vector<std::string> toolkit_folders(const std::vector<std::string>& suffixes) {
  std::vector<std::string> folders;
  for (const std::string& toolkit : toolkit_folders())
    for (const std::string& suffix : suffixes) append_folder(folders, toolkit + suffix);
  return folders;
}

std::vector<std::string> library_names(std::string_view stem) {
  std::vector<int> majors{built_major};
  for (const int major : {13, 12})
    if (major != built_major) majors.push_back(major);
  std::vector<std::string> names;
  for (const int major : majors)
    names.push_back(std::string(stem) + ".so." + std::to_string(major));
  return names;
}

SharedLibrary open_toolkit_library(std::string_view stem, std::string_view companion) {
  return SharedLibrary::open(library_names(stem), toolkit_folders({"/lib64", "/lib"}), companion);
}

}  // namespace gla_bench::cuda
