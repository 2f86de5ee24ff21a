#include "harness/config/space/formula.hpp"

#include <utility>

namespace gla_bench {

Formula::Formula(std::string text)
    : text_(std::move(text)),
      expression_(std::make_shared<const Expression>(parse_expression(text_))),
      names_(names_in(*expression_)) {}

std::int64_t Formula::value(const NameValues& names) const {
  const ExpressionValue value = evaluate(*expression_, names);
  if (const std::int64_t* number = std::get_if<std::int64_t>(&value)) return *number;
  throw ExpressionError("a number in place of a list");
}

}  // namespace gla_bench
