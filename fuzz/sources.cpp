// What the build of the program generates and a target does not need: the kernels' sources inside
// it, and the commit that it was made of.

#include "harness/backends/sources/source_store.hpp"
#include "harness/support/git_version.hpp"

namespace gla_bench {

std::span<const Source> embedded_sources() {
  return {};
}

std::string_view git_commit() {
  return "fuzz";
}

bool git_dirty() {
  return false;
}

}  // namespace gla_bench
