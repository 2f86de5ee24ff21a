#pragma once
// The source of a CUDA kernel as C++ that device/cuda.hpp completes.

#include <string>

namespace gla_bench::emulated {

/// Turns what no macro can: `extern __shared__ T name[];` becomes a pointer to the block's dynamic
/// shared memory, another shared variable a reference into it (device/cuda.hpp), and an asm
/// statement becomes a Statement (device/statement.hpp) that runs on its operands. Before a kernel
/// with __cluster_dims__ the number of its cluster's blocks is declared. Everything else stays as
/// it is, on the same lines. @throws BuildError for an asm statement without an end
std::string as_cpp(const std::string& source);

}  // namespace gla_bench::emulated
