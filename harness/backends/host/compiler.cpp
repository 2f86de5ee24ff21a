// The compiler of this program's own code, which includes the host's candidates.

#include "harness/backends/backend.hpp"

namespace gla_bench {

std::string host_compiler_description() {
#if defined(__clang__)
  const std::string compiler = std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  const std::string compiler = std::string("g++ ") + __VERSION__;
#else
  const std::string compiler = "unknown";
#endif
  return compiler + " " + GLA_BENCH_COMPILER_OPTIONS;
}

}  // namespace gla_bench
