#pragma once
// Finds the CUDA toolkit's libraries. The program does not link them, because it must start on
// machines without a toolkit.

#include <string>
#include <string_view>
#include <vector>

#include "harness/support/system/shared_library.hpp"

namespace gla_bench::cuda {

/// Folders that may hold a toolkit, the best first: CUDA_HOME, CUDA_PATH, the toolkit of the build,
/// and the usual places.
std::vector<std::string> toolkit_folders();

/// toolkit_folders() with each of the suffixes ("/lib64"), as far as such folders exist.
std::vector<std::string> toolkit_folders(const std::vector<std::string>& suffixes);

/// "libnvrtc.so.13" and "libnvrtc.so.12", with the major version of the build first.
std::vector<std::string> library_names(std::string_view stem);

/// Opens a library of the toolkit by the stem of its name ("libnvrtc"). `companion` is as in
/// SharedLibrary::open().
SharedLibrary open_toolkit_library(std::string_view stem, std::string_view companion);

}  // namespace gla_bench::cuda
