#pragma once
// A problem's candidates on their way to their records, through workers that may die: who is asked
// next, who is suspected, who is given up. Knows no processes.

#include <optional>
#include <string>
#include <vector>

#include "harness/workers/protocol.hpp"

namespace gla_bench {

/// Why a worker ended in the middle of its work.
struct WorkerEnd {
  bool timed_out = false;  ///< it was killed, because a step was over its limit
  std::string cause;       ///< "SIGSEGV (Segmentation fault)", "a call took more than 30 s"
};

/// A candidate that no worker will be asked for again.
struct GivenUp {
  std::size_t candidate = 0;
  Status status = Status::crashed;
  std::string reason;
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

  /// A candidate, by its place in the point, is recorded though its worker died.
  void close(std::size_t candidate);

  /// The step in hand, candidates by their place in the point; nothing between steps.
  const std::optional<StepEvent>& in_hand() const { return in_hand_; }

  /// The worker died: the candidate in hand becomes a suspect, or, where it was one already or
  /// hung, is given up; all that are left where the problem itself was in hand. False where no step
  /// had begun, so that nobody is to blame.
  bool died(const WorkerEnd& end, std::vector<GivenUp>& given_up);

  /// A suspect went through when tried alone: something else killed the worker. Resets itself.
  bool acquitted();

 private:
  struct State {
    bool recorded = false;
    int deaths = 0;
  };
  void give_up(std::size_t candidate, const WorkerEnd& end, const std::string& before,
               std::vector<GivenUp>& given_up);

  std::vector<State> states_;
  int deaths_ = 0;  ///< in steps for the problem as a whole
  std::optional<std::size_t> suspect_;
  Order order_;
  std::optional<StepEvent> in_hand_;
  bool progressed_ = false, acquitted_ = false;
};

}  // namespace gla_bench
