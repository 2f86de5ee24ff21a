#pragma once
// The assembler's report about each kernel, read from the compiler's log, and what its input has.

#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The log of a compilation with --ptxas-options=-v, split into its parts.
struct PtxasLog {
  std::vector<KernelBuild> kernels;  ///< shared_bytes: static only
  std::string warnings;              ///< all lines outside the assembler's report
};

PtxasLog parse_ptxas_log(std::string_view log);

/// The kernels of a text for the assembler, of which only the names are known before it has run.
std::vector<KernelBuild> kernels_of_ptx(std::string_view ptx);

}  // namespace gla_bench
