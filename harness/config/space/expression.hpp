#pragma once
// Small expressions over whole numbers, as search spaces and manifests write them: values of an
// axis ("[2**i for i in range(5, 9)]"), constraints ("block_v <= chunk and chunk % 16 == 0") and
// sizes ("ceil_div(value_dim, block_v)"). The precedence is Python's; &&, || and ! are taken as
// well.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gla_bench {

/// Text that is no such expression, or one that has no value: what stood where ("column 7: found
/// \"/\", expected \"//\"").
struct ExpressionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Expression {
  enum class Kind { number, name, list, comprehension, call, unary, binary, comparison };
  Kind kind = Kind::number;
  std::int64_t number = 0;
  std::string name;                  ///< of a name, function or operator
  std::vector<std::string> chain{};  ///< operators of a comparison: a < b <= c has two
  std::vector<Expression> parts{};
};

/// A number (truth is 1, its opposite 0) or a list of them.
using ExpressionValue = std::variant<std::int64_t, std::vector<std::int64_t>>;

/// The value of a name, or nothing for one that has none.
using NameValues = std::function<std::optional<std::int64_t>(const std::string&)>;

/// Numbers, names, lists, comprehensions with one `for`, + - * // % **, comparisons (chained, and
/// `in`), and, or, not, and the functions range, list, min, max, abs, ceil_div. A single / is
/// refused: tuners do not agree on it. @throws ExpressionError, also beyond 2000 characters or 64
/// levels
Expression parse_expression(std::string_view text);

/// @throws ExpressionError for a name without a value, a division by 0, a number beyond 64 bits, a
/// list where a number is needed, and more than a million steps
ExpressionValue evaluate(const Expression& expression, const NameValues& names);

/// The names that an expression takes from outside.
std::set<std::string> names_in(const Expression& expression);

}  // namespace gla_bench
