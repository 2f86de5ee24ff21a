#pragma once
// A whole number that depends on names: "ceil_div(value_dim, block_v)", or 128 itself.

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "harness/config/space/expression.hpp"

namespace gla_bench {

class Formula {
 public:
  Formula() : Formula("0") {}
  /// @throws ExpressionError for text that is no expression
  explicit Formula(std::string text);

  const std::string& text() const { return text_; }

  /// The names that it takes from outside.
  const std::set<std::string>& names() const { return names_; }

  bool operator==(const Formula& other) const { return text_ == other.text_; }

  /// @throws ExpressionError where there is no such number: evaluate()'s reasons, and a list
  std::int64_t value(const NameValues& names) const;

 private:
  std::string text_;
  std::shared_ptr<const Expression> expression_;
  std::set<std::string> names_;
};

}  // namespace gla_bench
