#include "core/catalog.hpp"

#include <algorithm>

namespace gla_bench {

const Operator* Catalog::find_operator(std::string_view name) const {
  for (const Operator& op : operators)
    if (op.name == name) return &op;
  return nullptr;
}

const Variant* Catalog::find_variant(std::string_view op, std::string_view name, BackendId backend,
                                     Direction direction) const {
  for (const Variant& variant : variants)
    if (variant.op == op && variant.name == name && variant.backend == backend &&
        variant.direction == direction)
      return &variant;
  return nullptr;
}

std::vector<std::string> Catalog::operator_names() const {
  std::vector<std::string> names;
  for (const Operator& op : operators) names.push_back(op.name);
  return names;
}

std::vector<std::string> Catalog::variant_names(std::string_view op, Direction direction) const {
  std::vector<std::string> names;
  for (const Variant& variant : variants)
    if (variant.op == op && variant.direction == direction &&
        std::find(names.begin(), names.end(), variant.name) == names.end())
      names.push_back(variant.name);
  return names;
}

std::vector<TensorSpec> possible_tensors(const Operator& op, Direction direction) {
  // Which tensors exist depends on the options of a problem, not on its sizes.
  Problem most;
  most.op = op.name;
  most.direction = direction;
  most.initial_state = true;
  std::vector<Problem> kinds{most};
  kinds.push_back(most);
  kinds.back().shape.sequences = 1;
  for (const OptionAxis& axis : op.options)
    for (const std::string& value : axis.values) {
      kinds.push_back(most);
      kinds.back().options[axis.name] = value;
    }
  std::vector<TensorSpec> specs;
  for (const Problem& problem : kinds)
    for (TensorSpec& spec : op.tensors(problem))
      if (std::none_of(specs.begin(), specs.end(),
                       [&](const TensorSpec& known) { return known.name == spec.name; }))
        specs.push_back(std::move(spec));
  return specs;
}

std::vector<std::string> input_names(const Operator& op) {
  std::vector<std::string> names;
  for (const Direction direction : op.directions)
    for (const TensorSpec& spec : possible_tensors(op, direction))
      if (spec.role == TensorSpec::Role::input &&
          std::find(names.begin(), names.end(), spec.name) == names.end())
        names.push_back(spec.name);
  return names;
}

Catalog program_catalog() {
  return {operators(), variants()};
}

}  // namespace gla_bench
