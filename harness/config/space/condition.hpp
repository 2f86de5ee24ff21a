#pragma once
// A constraint on tiles, out of a config or a search space: "block_v <= chunk".

#include <set>
#include <string>
#include <utility>

#include "core/tile.hpp"
#include "harness/config/space/formula.hpp"

namespace gla_bench {

class Condition {
 public:
  /// @throws ExpressionError (config/space/expression.hpp) for text that is no expression
  explicit Condition(std::string text) : formula_(std::move(text)) {}

  const std::string& text() const { return formula_.text(); }

  /// The axes that the condition names.
  const std::set<std::string>& names() const { return formula_.names(); }

  /// True where the tile lacks an axis that the condition names, because it then does not apply to
  /// the tile. False where the condition cannot be evaluated (a division by 0). Never throws.
  bool holds(const Tile& tile) const;

 private:
  Formula formula_;
};

}  // namespace gla_bench
