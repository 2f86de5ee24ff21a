#pragma once
// The operators and variants that a config may name: the program's own lists, or those of a test.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

struct Catalog {
  std::span<const Operator> operators;
  std::span<const Variant> variants;
  /// What `variants` shows, where others than the program's own are among them.
  std::shared_ptr<const std::vector<Variant>> owned = {};

  /// Returns nothing for an unknown name.
  const Operator* find_operator(std::string_view name) const;
  const Variant* find_variant(std::string_view op, std::string_view name, BackendId backend,
                              Direction direction) const;

  std::vector<std::string> operator_names() const;
  /// The names of an operator's variants on any backend, each once, in the order of the list.
  std::vector<std::string> variant_names(std::string_view op, Direction direction) const;
};

/// All tensors that an operator's problems may have in a direction, with any options, each once.
/// Their extents are those of the smallest problem.
std::vector<TensorSpec> possible_tensors(const Operator& op, Direction direction);

/// The names of all inputs that an operator's problems may have, with any options, each once.
std::vector<std::string> input_names(const Operator& op);

/// The catalog of the program's own operators() and variants().
Catalog program_catalog();

}  // namespace gla_bench
