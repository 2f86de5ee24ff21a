#pragma once
// The texts that are compiled for a CUDA candidate: generated constants, then the kernel's file.

#include <optional>
#include <string>
#include <vector>

#include "core/device_reference.hpp"
#include "core/variant.hpp"

namespace gla_bench {

/// One text for the compiler, and the file below kernels/ that it includes.
struct Unit {
  std::string source;
  std::string text;
};

/// `using io_t`, each of the constants in its namespace, then #include "<source>".
/// Depends on the dtype and the constants only, so that problems which share them share the binary.
std::string prologue(DType dtype, const std::string& source,
                     const std::vector<Constant>& constants);

/// What a device reference is compiled from: real_t and rounding::mantissa as the arithmetic has
/// them (nothing: float64), the recipe's constants, then its source.
Unit unit_of(const ReferenceRecipe& recipe, std::optional<Arithmetic> arithmetic);

/// What a recipe is compiled from: its own source, then each of its imports, each with its
/// constants alone.
std::vector<Unit> units_of(DType dtype, const Recipe& recipe);

/// The same for a candidate of the CUDA backend: each text compiles with nvcc, given kernels/ and
/// the root of the tree as include folders. @throws InputError for a host candidate
std::vector<Unit> units_of(const Candidate& candidate);

/// The texts of units_of() in one: candidates with the same need the same binaries.
std::string full_source(const Candidate& candidate);

}  // namespace gla_bench
