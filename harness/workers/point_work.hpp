#pragma once
// Follows a problem's candidates to their records, through workers that may die. It decides who is
// asked for next, who is suspected and who is given up. It knows nothing of processes.

#include <optional>
#include <vector>

#include "harness/workers/death_policy.hpp"

namespace gla_bench {

/// What follows for a problem when its worker dies.
struct PointDeath {
  DeathDecision decision;
  StepEvent step = {};  ///< the step that was under way, unless the decision blames nobody
  /// Candidates that no worker will be asked for again, by their index in the point. The decision
  /// says what their rows are.
  std::vector<std::size_t> closed = {};
};

class PointWork {
 public:
  explicit PointWork(std::size_t candidates) : states_(candidates) {}

  /// The candidates to ask a worker for, in order; empty when all are recorded. A suspect is asked
  /// for alone.
  struct Order {
    std::vector<std::size_t> candidates;
    bool alone = false;
  };
  const Order& next();

  // The worker's messages, with candidates by their index in the order. @throws WorkerError for an
  // index that the order lacks, and for an order that ends without any record
  std::size_t candidate(std::size_t place) const;
  void starting(const StepEvent& event);
  void recorded(std::size_t place);
  void done();

  /// The step under way, with candidates by their index in the point; nothing between steps.
  const std::optional<StepEvent>& in_hand() const { return in_hand_; }

  /// The worker died. `blameless` and `timed`: see WorkerDeath. Applies the decision of
  /// after_death() to who is asked for next. The caller writes the rows and messages.
  PointDeath died(const WorkerEnd& end, int blameless = 0, bool timed = false);

  /// A suspect succeeded when it was tried alone, so something else killed the worker. Reading this
  /// resets it.
  bool acquitted();

 private:
  struct State {
    bool recorded = false;
    int deaths = 0;
  };
  void close(std::size_t candidate);

  std::vector<State> states_;
  int deaths_ = 0;  ///< deaths in steps for the problem as a whole
  std::optional<std::size_t> suspect_;
  Order order_;
  std::optional<StepEvent> in_hand_;
  bool progressed_ = false, acquitted_ = false;
};

}  // namespace gla_bench
