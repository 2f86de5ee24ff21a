#include "harness/config/candidates/problem_numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/catalog.hpp"
#include "core/extents.hpp"

namespace gla_bench {
namespace {

using Number = std::int64_t;
using Value = Number (*)(const Problem&);

constexpr std::array<std::pair<std::string_view, Value>, 4> properties{
    {{"element_bytes", [](const Problem& p) { return static_cast<Number>(size_of(p.dtype)); }},
     {"head_first", [](const Problem& p) { return Number{p.layout == Layout::head_first}; }},
     {"initial_state", [](const Problem& p) { return Number{p.initial_state}; }},
     {"final_state", [](const Problem& p) { return Number{p.final_state}; }}}};

constexpr std::array<std::pair<std::string_view, Number (*)(const Limits&)>, 3> allowances{
    {{"arch", [](const Limits& l) { return Number{l.arch}; }},
     {"shared_per_block", [](const Limits& l) { return static_cast<Number>(l.shared_per_block); }},
     {"multiprocessors", [](const Limits& l) { return Number{l.multiprocessors}; }}}};

constexpr std::string_view stride = "_stride_";

Number extent_of(const Shape& shape, const std::string& name) {
  if (name == "key_seq") return shape.keys_seq();
  if (name == "key_heads") return shape.keys_heads();
  return shape.*extent_axis(name).extent;
}

/// A whole number or a truth as a number; nothing for any other text.
std::optional<Number> as_number(std::string_view text) {
  if (text == "true" || text == "false") return Number{text == "true"};
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_numeric(const OptionAxis& axis) {
  return std::all_of(axis.values.begin(), axis.values.end(),
                     [](const std::string& value) { return as_number(value).has_value(); });
}

std::optional<Number> option_number(const Operator& op, const Problem& problem,
                                    std::string_view name) {
  for (const OptionAxis& axis : op.options) {
    const std::string& chosen = option(op, problem, axis.name);
    if (is_numeric(axis)) {
      if (axis.name == name) return as_number(chosen);
      continue;
    }
    for (const std::string& value : axis.values)
      if (axis.name + "_" + value == name) return Number{chosen == value};
  }
  return std::nullopt;
}

std::optional<Number> stride_number(const Operator& op, const Problem& problem,
                                    const std::string& name) {
  const std::size_t at = name.rfind(stride);
  if (at == std::string::npos) return std::nullopt;
  const auto axis = as_number(std::string_view(name).substr(at + stride.size()));
  if (!axis || *axis < 0) return std::nullopt;
  for (const TensorSpec& spec : op.tensors(problem))
    if (name.compare(0, at, spec.name) == 0 &&
        static_cast<std::size_t>(*axis) < spec.extents.size())
      return stride_of(spec, problem.layout, static_cast<std::size_t>(*axis));
  return 0;  // a tensor of other problems, or there is no such name (problem_names)
}

}  // namespace

Number stride_of(const TensorSpec& spec, Layout layout, std::size_t axis) {
  const std::size_t count = spec.extents.size();
  std::vector<std::size_t> stored(count);  // the axes in their order in memory
  for (std::size_t i = 0; i < count; ++i) stored[i] = i;
  if (spec.tokens && layout == Layout::head_first && count > 2) std::swap(stored[1], stored[2]);
  if (spec.value_first && count > 1) std::swap(stored[count - 2], stored[count - 1]);
  Number elements = 1;
  for (std::size_t i = count; i-- > 0 && stored[i] != axis;) {
    // A token's row may be wider than what the tensor has of it.
    const bool token = spec.token_pitch > 0 && stored[i] == 2;
    elements = token ? spec.token_pitch : elements * spec.extents[stored[i]];
  }
  return elements;
}

std::vector<std::string> problem_names(const Operator& op, Direction direction) {
  std::vector<std::string> names = all_extents(op);
  for (const auto& [name, value] : properties) names.emplace_back(name);
  for (const OptionAxis& axis : op.options) {
    if (is_numeric(axis)) {
      names.push_back(axis.name);
      continue;
    }
    for (const std::string& value : axis.values) names.push_back(axis.name + "_" + value);
  }
  for (const TensorSpec& spec : possible_tensors(op, direction))
    for (std::size_t axis = 0; axis < spec.extents.size(); ++axis)
      names.push_back(spec.name + std::string(stride) + std::to_string(axis));
  return names;
}

std::vector<std::string> limit_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : allowances) names.emplace_back(name);
  return names;
}

NameValues numbers_of(const Operator& op, const Problem& problem, const Tile& tile,
                      const Limits* limits) {
  return [&op, &problem, &tile, limits](const std::string& name) -> std::optional<Number> {
    if (const auto axis = tile.find(name); axis != tile.end()) return axis->second;
    const std::vector<std::string> extents = all_extents(op);
    if (std::find(extents.begin(), extents.end(), name) != extents.end())
      return extent_of(problem.shape, name);
    for (const auto& [property, value] : properties)
      if (property == name) return value(problem);
    if (limits != nullptr)
      for (const auto& [allowance, value] : allowances)
        if (allowance == name) return value(*limits);
    if (const auto value = option_number(op, problem, name)) return value;
    return stride_number(op, problem, name);
  };
}

}  // namespace gla_bench
