#include "core/operator.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/catalog.hpp"

namespace gla_bench {

std::optional<std::string> option_value(const OptionAxis& axis, std::string_view text) {
  const auto known = [&](std::string_view value) {
    return std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end();
  };
  if (known(text)) return std::string(text);
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype || !known(name(*dtype))) return std::nullopt;
  return std::string(name(*dtype));
}

const Operator* find_operator(std::string_view name) {
  return Catalog{operators(), {}}.find_operator(name);
}

std::string default_gate(const Operator& op) {
  if (!op.usual_gate.empty()) return op.usual_gate;
  return op.gates.empty() ? "none" : op.gates.front();
}

std::vector<std::string> all_extents(const Operator& op) {
  std::vector<std::string> names = op.extents;
  names.insert(names.end(), op.optional_extents.begin(), op.optional_extents.end());
  return names;
}

double scale_of(const Operator& op, const Problem& problem) {
  return problem.scale.value_or(op.default_scale(problem));
}

const std::string& option(const Operator& op, const Problem& problem, std::string_view name) {
  for (const OptionAxis& axis : op.options) {
    if (axis.name != name) continue;
    const auto chosen = problem.options.find(axis.name);
    return chosen == problem.options.end() ? axis.values.front() : chosen->second;
  }
  throw std::out_of_range("operator " + op.name + " has no option '" + std::string(name) + "'");
}

std::string option(const Problem& problem, std::string_view name) {
  const auto chosen = problem.options.find(std::string(name));
  if (chosen != problem.options.end()) return chosen->second;
  if (const Operator* op = find_operator(problem.op))
    for (const OptionAxis& axis : op->options)
      if (axis.name == name) return axis.values.front();
  return "";
}

bool flag(const Problem& problem, std::string_view name) {
  return option(problem, name) == "true";
}

}  // namespace gla_bench
