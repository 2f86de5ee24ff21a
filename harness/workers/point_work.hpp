#pragma once
// A problem's candidates on their way to their records, through workers that may die: who is asked
// next, who is suspected, who is given up. Knows no processes.

#include <optional>
#include <vector>

#include "harness/workers/death_policy.hpp"

namespace gla_bench {

/// What follows for a point when its worker dies.
struct PointDeath {
  DeathDecision decision;
  StepEvent step = {};  ///< what was in hand, unless the decision blames nobody
  /// Candidates that no worker will be asked for again, by their places in the point: their rows
  /// are what the decision says.
  std::vector<std::size_t> closed = {};
};

class PointWork {
 public:
  explicit PointWork(std::size_t candidates) : states_(candidates) {}

  /// Candidates to ask a worker for, in order; empty when all are recorded. A suspect is asked for
  /// alone.
  struct Order {
    std::vector<std::size_t> candidates;
    bool alone = false;
  };
  const Order& next();

  // What the worker says; candidates by their place in the order. @throws WorkerError for a place
  // that the order lacks, and for an order that ends without any record
  std::size_t candidate(std::size_t place) const;
  void starting(const StepEvent& event);
  void recorded(std::size_t place);
  void done();

  /// The step in hand, candidates by their place in the point; nothing between steps.
  const std::optional<StepEvent>& in_hand() const { return in_hand_; }

  /// The worker died. `blameless` and `timed`: see WorkerDeath. What after_death() decides is done
  /// here as far as it concerns who is asked next; rows and messages are the caller's.
  PointDeath died(const WorkerEnd& end, int blameless = 0, bool timed = false);

  /// A suspect went through when tried alone: something else killed the worker. Resets itself.
  bool acquitted();

 private:
  struct State {
    bool recorded = false;
    int deaths = 0;
  };
  void close(std::size_t candidate);

  std::vector<State> states_;
  int deaths_ = 0;  ///< in steps for the problem as a whole
  std::optional<std::size_t> suspect_;
  Order order_;
  std::optional<StepEvent> in_hand_;
  bool progressed_ = false, acquitted_ = false;
};

}  // namespace gla_bench
