#include "harness/backends/sources/prologue.hpp"

#include <map>
#include <vector>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {
namespace {

std::string_view device_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::bfloat16:
      return "__nv_bfloat16";
    case DType::float16:
      return "__half";
    case DType::int32:
      return "int";
  }
  return "?";
}

std::string constants_text(const std::vector<Constant>& constants) {
  std::string text;
  std::map<std::string, std::string> scopes;
  for (const Constant& constant : constants) {
    const std::string value = std::to_string(constant.value);
    if (constant.scope.empty())
      text += "#define " + constant.name + " (" + value + ")\n";
    else
      scopes[constant.scope] +=
          "[[maybe_unused]] constexpr int " + constant.name + " = " + value + ";\n";
  }
  for (const auto& [scope, lines] : scopes)
    text += "namespace " + scope + " {\n" + lines + "}  // namespace " + scope + "\n";
  return text;
}

/// One hash of all texts and their paths.
std::string hash_of(const std::map<std::string, std::string>& texts) {
  std::uint64_t state = hash_bytes("");
  for (const auto& [path, text] : texts)
    for (const std::string& part : {path, std::to_string(text.size()), text})
      state = hash_bytes(part + "\n", state);
  return hex(state);
}

// The explicit mantissa bits of float64, so an operand loses no bits.
constexpr int all_mantissa_bits = 52;

}  // namespace

std::string prologue(DType dtype, const std::string& source, const std::vector<Constant>& constants,
                     const SourceTexts& texts) {
  std::string text = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n";
  // Two sources from outside may have the same path: the compiler tells units apart by their text.
  if (texts) text += "// sources " + hash_of(*texts) + "\n";
  text.append("using io_t = ").append(device_type(dtype)).append(";\n");
  text += constants_text(constants);
  text += "#include \"" + source + "\"\n";
  return text;
}

Unit unit_of(const ReferenceRecipe& recipe, std::optional<Arithmetic> arithmetic) {
  std::vector<Constant> constants = recipe.constants;
  constants.push_back(
      {"rounding", "mantissa", arithmetic ? kept_mantissa(*arithmetic) : all_mantissa_bits});
  return {recipe.source, std::string("using real_t = ") + (arithmetic ? "float" : "double") +
                             ";\n" + constants_text(constants) + "#include \"" + recipe.source +
                             "\"\n"};
}

Recipe recipe_of(const Candidate& candidate) {
  const auto* make =
      std::get_if<std::function<Recipe(const Problem&, const Tile&)>>(&candidate.variant->code);
  if (make == nullptr) throw BuildError(describe(candidate) + ": has no CUDA source");
  return (*make)(candidate.problem, candidate.tile);
}

std::vector<Unit> units_of(DType dtype, const Recipe& recipe) {
  std::vector<Unit> units;
  if (!recipe.source.empty())
    units.push_back({recipe.source, prologue(dtype, recipe.source, recipe.constants, recipe.texts),
                     recipe.texts});
  for (const Module& module : recipe.imports)
    units.push_back({module.source, prologue(dtype, module.source, module.constants)});
  return units;
}

std::vector<Unit> units_of(const Candidate& candidate) {
  const auto* recipe =
      std::get_if<std::function<Recipe(const Problem&, const Tile&)>>(&candidate.variant->code);
  if (recipe == nullptr) throw InputError(describe(candidate) + ": has no CUDA source");
  return units_of(candidate.problem.dtype, (*recipe)(candidate.problem, candidate.tile));
}

std::string full_source(const Candidate& candidate) {
  std::string text;
  for (const Unit& unit : units_of(candidate)) text += unit.text;
  return text;
}

}  // namespace gla_bench
