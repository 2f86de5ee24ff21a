#pragma once
// The text that is compiled for a CUDA candidate: generated constants, then the kernel's file.

#include <string>

#include "harness/variant.hpp"

namespace gla_bench {

/// `using io_t`, each of the recipe's constants in its namespace, then #include "<recipe.source>".
/// Depends on the dtype and the constants only, so that problems which share them share the binary.
std::string prologue(DType dtype, const Recipe& recipe);

/// prologue() of a candidate of the CUDA backend: compiles with nvcc, given kernels/ and the root
/// of the tree as include folders. @throws InputError for a host candidate
std::string full_source(const Candidate& candidate);

}  // namespace gla_bench
