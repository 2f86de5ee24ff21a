// The assembler's account in a compiler's log: any text is one, and the counts are never negative.

#include <cstdlib>

#include "fuzz/target.hpp"
#include "harness/backends/sources/ptxas_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  const PtxasLog log = parse_ptxas_log(fuzz::text_of(data, size));
  for (const KernelBuild& kernel : log.kernels)
    if (kernel.registers < 0 || kernel.spill_bytes < 0 || kernel.shared_bytes < 0) std::abort();
  if (log.warnings.size() > size + 1) std::abort();
  return 0;
}
