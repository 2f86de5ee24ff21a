#include "harness/config/space/condition.hpp"

#include <algorithm>

#include "harness/config/space/expression.hpp"

namespace gla_bench {

Condition::Condition(std::string text)
    : text_(std::move(text)),
      expression_(std::make_shared<const Expression>(parse_expression(text_))),
      names_(names_in(*expression_)) {}

bool Condition::holds(const Tile& tile) const {
  const auto there = [&](const std::string& name) { return tile.contains(name); };
  if (!std::all_of(names_.begin(), names_.end(), there)) return true;
  try {
    const ExpressionValue value = evaluate(
        *expression_,
        [&](const std::string& name) -> std::optional<std::int64_t> { return tile.at(name); });
    const std::int64_t* truth = std::get_if<std::int64_t>(&value);
    return truth != nullptr && *truth != 0;
  } catch (const ExpressionError&) {
    return false;
  }
}

}  // namespace gla_bench
