#pragma once
// What the assembler says of each kernel, read from the compiler's log.

#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// Log of a compilation with --ptxas-options=-v, taken apart.
struct PtxasLog {
  std::vector<KernelBuild> kernels;  ///< shared_bytes: static only
  std::string warnings;              ///< every line that is not the assembler's account
};

PtxasLog parse_ptxas_log(std::string_view log);

}  // namespace gla_bench
