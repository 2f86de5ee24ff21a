#include "core/problem.hpp"

#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include "core/extents.hpp"
#include "core/rounding.hpp"

namespace gla_bench {
namespace {

template <class Enum, std::size_t n>
using Names = std::array<std::pair<Enum, std::string_view>, n>;

constexpr Names<DType, 4> dtype_names{{{DType::float32, "float32"},
                                       {DType::bfloat16, "bfloat16"},
                                       {DType::float16, "float16"},
                                       {DType::int32, "int32"}}};
constexpr Names<DType, 5> dtype_aliases{{{DType::float32, "fp32"},
                                         {DType::float32, "float"},
                                         {DType::bfloat16, "bf16"},
                                         {DType::float16, "fp16"},
                                         {DType::float16, "half"}}};
constexpr Names<Layout, 2> layout_names{
    {{Layout::seq_first, "seq_first"}, {Layout::head_first, "head_first"}}};
constexpr Names<Direction, 3> direction_names{{{Direction::forward, "forward"},
                                               {Direction::backward, "backward"},
                                               {Direction::training, "training"}}};
constexpr Names<Arithmetic, 4> arithmetic_names{{{Arithmetic::float32, "float32"},
                                                 {Arithmetic::tf32, "tf32"},
                                                 {Arithmetic::bfloat16, "bfloat16"},
                                                 {Arithmetic::float16, "float16"}}};

template <class Enum, std::size_t n>
std::string_view find_name(const Names<Enum, n>& names, Enum value) {
  for (const auto& [candidate, text] : names)
    if (candidate == value) return text;
  return "?";
}

template <class Enum, std::size_t n>
std::optional<Enum> find_value(const Names<Enum, n>& names, std::string_view text) {
  for (const auto& [value, candidate] : names)
    if (candidate == text) return value;
  return std::nullopt;
}

}  // namespace

std::size_t size_of(DType dtype) {
  return dtype == DType::float32 || dtype == DType::int32 ? 4 : 2;
}

std::string_view name(DType dtype) {
  return find_name(dtype_names, dtype);
}
std::string_view name(Layout layout) {
  return find_name(layout_names, layout);
}
std::string_view name(Direction direction) {
  return find_name(direction_names, direction);
}
std::string_view name(Arithmetic arithmetic) {
  return find_name(arithmetic_names, arithmetic);
}
std::optional<DType> parse_dtype(std::string_view text) {
  if (const auto alias = find_value(dtype_aliases, text)) return alias;
  for (const DType dtype : problem_dtypes)
    if (name(dtype) == text) return dtype;
  return std::nullopt;
}
std::optional<Layout> parse_layout(std::string_view text) {
  return find_value(layout_names, text);
}
std::optional<Direction> parse_direction(std::string_view text) {
  return find_value(direction_names, text);
}

Problem in_direction(Problem problem, Direction direction) {
  problem.direction = direction;
  return problem;
}

std::vector<std::string> names_of_directions() {
  std::vector<std::string> names;
  for (const Direction direction : directions) names.emplace_back(name(direction));
  return names;
}

std::string describe(const Problem& problem) {
  std::string text = problem.op;
  text.append(" ").append(name(problem.direction));
  text.append(" ").append(name(problem.dtype));
  text.append(" ").append(name(problem.layout));
  text += extents_text(problem.shape, " ", "=");
  text += " gate=" + problem.gate + " seed=" + std::to_string(problem.seed);
  for (const auto& [option, value] : problem.options) text += " " + option + "=" + value;
  if (problem.initial_state) text += " initial_state";
  if (!problem.final_state) text += " no_final_state";
  if (problem.scale) {
    std::ostringstream scale;
    scale << " scale=" << *problem.scale;
    text += scale.str();
  }
  if (!problem.tensors.empty()) text += " tensors=" + problem.tensors;
  return text;
}

float round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::float32:
      return static_cast<float>(value);
    case DType::bfloat16:
      return round_to_bfloat16(value);
    case DType::float16:
      return round_to_float16(value);
    case DType::int32:
      return static_cast<float>(std::nearbyint(value));
  }
  return static_cast<float>(value);
}

}  // namespace gla_bench
