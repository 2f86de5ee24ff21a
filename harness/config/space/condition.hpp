#pragma once
// A constraint on tiles, out of a config or a search space: "block_v <= chunk".

#include <memory>
#include <set>
#include <string>

#include "core/tile.hpp"

namespace gla_bench {

struct Expression;

class Condition {
 public:
  /// @throws ExpressionError (config/space/expression.hpp) for text that is no expression
  explicit Condition(std::string text);

  const std::string& text() const { return text_; }

  /// The axes that the condition names.
  const std::set<std::string>& names() const { return names_; }

  /// True where the tile lacks an axis that the condition names, because it then does not apply to
  /// the tile. False where the condition cannot be evaluated (a division by 0). Never throws.
  bool holds(const Tile& tile) const;

 private:
  std::string text_;
  std::shared_ptr<const Expression> expression_;
  std::set<std::string> names_;
};

}  // namespace gla_bench
