#include "kernels/refusal.hpp"

#include <algorithm>
#include <limits>

namespace gla_bench {
namespace {

std::string joined(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

}  // namespace

int choice(const Tile& tile, std::string_view axis) {
  for (const auto& [name, value] : tile)
    if (name == axis) return value;
  return 0;
}

std::optional<std::string> refuse_choice(const TileSpace& space, const Tile& tile) {
  for (const TileAxis& axis : space) {
    const int value = choice(tile, axis.name);
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      return axis.name + "=" + std::to_string(value) + " is not one of " + joined(axis.values);
  }
  return std::nullopt;
}

std::optional<std::string> refuse_architecture(const Limits& limits) {
  if (limits.arch >= 80) return std::nullopt;
  return "needs sm_80, this is sm_" + std::to_string(limits.arch);
}

std::optional<std::string> refuse_shared(std::int64_t bytes, const Limits& limits) {
  if (bytes <= static_cast<std::int64_t>(limits.shared_per_block)) return std::nullopt;
  return std::to_string(bytes) + " bytes of shared memory, " +
         std::to_string(limits.shared_per_block) + " are there";
}

std::optional<std::string> refuse_blocks(double blocks) {
  if (blocks <= std::numeric_limits<int>::max()) return std::nullopt;
  return "more blocks than a grid holds";
}

std::optional<std::string> refuse_workspace(double bytes, const Limits& limits) {
  if (limits.memory_bytes == 0 || bytes <= static_cast<double>(limits.memory_bytes))
    return std::nullopt;
  const auto mebibytes = [](double b) {
    return std::to_string(static_cast<long long>(b / 1048576));
  };
  return mebibytes(bytes) + " MiB of workspace, " +
         mebibytes(static_cast<double>(limits.memory_bytes)) + " MiB of memory";
}

std::optional<std::string> refuse_terms(const Problem& problem, int terms) {
  if (terms == 1 || problem.dtype == DType::float32) return std::nullopt;
  return "terms=" + std::to_string(terms) + " is for float32: 16-bit inputs gain nothing";
}

Arithmetic product_arithmetic(const Problem& problem, int terms) {
  switch (problem.dtype) {
    case DType::bfloat16:
      return Arithmetic::bfloat16;
    case DType::float16:
      return Arithmetic::float16;
    case DType::float32:
    case DType::int32:
      break;
  }
  return terms == 3 ? Arithmetic::float32 : Arithmetic::tf32;
}

}  // namespace gla_bench
