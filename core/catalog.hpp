#pragma once
// The operators and variants that a config may name: the program's own lists, or a test's.

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

  /// Nothing for an unknown name.
  const Operator* find_operator(std::string_view name) const;
  const Variant* find_variant(std::string_view op, std::string_view name, BackendId backend,
                              Direction direction) const;

  std::vector<std::string> operator_names() const;
  /// Names of an operator's variants on any backend, each once, in the list's order.
  std::vector<std::string> variant_names(std::string_view op, Direction direction) const;
};

/// Names of the inputs that an operator's problems may have, whatever they ask for, each once.
std::vector<std::string> input_names(const Operator& op);

/// operators() and variants().
Catalog program_catalog();

}  // namespace gla_bench
