#include "harness/prologue.hpp"

#include <map>
#include <vector>

#include "harness/error.hpp"

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

}  // namespace

std::string prologue(DType dtype, const Recipe& recipe) {
  std::string text = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n";
  text.append("using io_t = ").append(device_type(dtype)).append(";\n");
  std::map<std::string, std::string> scopes;
  for (const Constant& constant : recipe.constants)
    scopes[constant.scope] += "[[maybe_unused]] constexpr int " + constant.name + " = " +
                              std::to_string(constant.value) + ";\n";
  for (const auto& [scope, lines] : scopes)
    text += "namespace " + scope + " {\n" + lines + "}  // namespace " + scope + "\n";
  text += "#include \"" + recipe.source + "\"\n";
  return text;
}

std::string full_source(const Candidate& candidate) {
  const auto* recipe =
      std::get_if<std::function<Recipe(const Problem&, const Tile&)>>(&candidate.variant->code);
  if (recipe == nullptr) throw InputError(describe(candidate) + ": has no CUDA source");
  return prologue(candidate.problem.dtype, (*recipe)(candidate.problem, candidate.tile));
}

}  // namespace gla_bench
