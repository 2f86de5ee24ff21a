#pragma once
// When a search of one problem has cost enough.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gla_bench::search {

/// What a search has cost so far.
struct Spent {
  double seconds = 0;          ///< of wall time; replayed: of measuring
  std::size_t candidates = 0;  ///< that were tried
};

/// `running_out`: no candidate is tried any more that was not tried before; what is left goes into
/// the comparison of the best. `over`: the search ends.
enum class BudgetState { left, running_out, over };

class StopCondition {
 public:
  virtual ~StopCondition() = default;
  virtual BudgetState state(const Spent& spent) const = 0;
  /// "the budget of 30 s is used up", as a record's reason.
  virtual std::string text() const = 0;
};

/// What a problem's search may cost; nothing: any.
struct Budget {
  std::optional<double> seconds;  ///< new candidates are tried within nine tenths of it
  std::optional<std::size_t> candidates;
};

std::vector<std::unique_ptr<StopCondition>> stop_conditions(const Budget& budget);

}  // namespace gla_bench::search
