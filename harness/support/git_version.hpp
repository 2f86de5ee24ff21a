#pragma once
// What the program was built from (cmake/GitVersion.cmake).

#include <string_view>

namespace gla_bench {

/// 40 hexadecimal digits, or "unknown" for a tree without git.
std::string_view git_commit();

/// The tree had changes besides the commit when the program was built.
bool git_dirty();

}  // namespace gla_bench
