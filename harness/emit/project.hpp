#pragma once
// Everything that `gla-bench emit` writes beside the kernel: how it is built, a test, a
// description.

#include <string>
#include <utility>
#include <vector>

#include "harness/emit/golden.hpp"
#include "harness/emit/launcher.hpp"

namespace gla_bench {

/// Paths below the folder, and their texts.
using ProjectFiles = std::vector<std::pair<std::string, std::string>>;

/// The launcher, CMakeLists.txt, README.md, the test program and its goldens.
/// @param origin where the candidate comes from, for the README: a record, a table
ProjectFiles project_files(const LauncherRequest& request, const std::string& origin,
                           double most_golden_bytes);

/// The C++ text of the test program, which reads golden/cases.txt.
std::string test_text(const Launcher& launcher);

}  // namespace gla_bench
