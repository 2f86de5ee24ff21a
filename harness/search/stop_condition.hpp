#pragma once
// Decides when the search of one problem has cost enough.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gla_bench::search {

/// What a search has cost so far.
struct Spent {
  double seconds = 0;          ///< wall time; in a replay, the time of measuring
  std::size_t candidates = 0;  ///< number of candidates that were tried
};

/// `running_out`: no new candidate is tried, and the rest of the budget goes into comparing the
/// best. `over`: the search ends.
enum class BudgetState { left, running_out, over };

class StopCondition {
 public:
  virtual ~StopCondition() = default;
  virtual BudgetState state(const Spent& spent) const = 0;
  /// "the budget of 30 s is used up", as a record's reason.
  virtual std::string text() const = 0;
};

/// What the search of a problem may cost; nothing: no limit.
struct Budget {
  std::optional<double> seconds;  ///< new candidates are tried within nine tenths of it
  std::optional<std::size_t> candidates;
};

/// The budget of a guided search of which `asked` says what the user gave: where that is nothing,
/// 20 seconds and 40 candidates. Given seconds leave the candidates open. A replay counts measuring
/// alone, and has no limit of seconds by itself.
Budget guided_budget(const Budget& asked, bool replayed);

std::vector<std::unique_ptr<StopCondition>> stop_conditions(const Budget& budget);

}  // namespace gla_bench::search
