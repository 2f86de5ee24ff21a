#pragma once
// The texts that are compiled for a CUDA candidate: generated constants, then the kernel's file.

#include <optional>
#include <string>
#include <vector>

#include "core/device_reference.hpp"
#include "core/variant.hpp"

namespace gla_bench {

/// One text for the compiler, and the file that it includes.
struct Unit {
  std::string source;      ///< below kernels/, or in `texts`
  std::string text;        ///< different for different `texts`
  SourceTexts texts = {};  ///< as in the recipe
};

/// Defines `io_t` with a using declaration and each constant in its namespace or as a macro, then
/// includes "<source>". It depends only on the dtype, the constants and the texts, so problems with
/// the same ones share a binary.
std::string prologue(DType dtype, const std::string& source, const std::vector<Constant>& constants,
                     const SourceTexts& texts = {});

/// The text of a device reference: real_t and rounding::mantissa for the arithmetic (without one:
/// float64), the recipe's constants, then its source.
Unit unit_of(const ReferenceRecipe& recipe, std::optional<Arithmetic> arithmetic);

/// What a candidate of the CUDA backend compiles and launches. @throws BuildError for a host
/// candidate
Recipe recipe_of(const Candidate& candidate);

/// The texts of a recipe: its own source, then each import, each with only its own constants.
std::vector<Unit> units_of(DType dtype, const Recipe& recipe);

/// The same for a candidate of the CUDA backend. Each text compiles with nvcc if kernels/ and the
/// root of the tree are include folders. @throws InputError for a host candidate
std::vector<Unit> units_of(const Candidate& candidate);

/// All texts of units_of() as one. Candidates with the same text need the same binaries.
std::string full_source(const Candidate& candidate);

}  // namespace gla_bench
