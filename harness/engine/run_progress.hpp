#pragma once
// Shows how far a run is, in steps of the progress bar: two per candidate (verify, measure), or
// one.

#include <functional>
#include <set>
#include <string>

#include "harness/engine/duration.hpp"
#include "harness/engine/run.hpp"
#include "harness/support/progress.hpp"

namespace gla_bench {

/// Turns events of candidates into steps. A candidate that is verified again after its worker died
/// counts once.
class RunProgress {
 public:
  /// `clock` gives seconds from any origin, for tests; empty: the steady clock.
  RunProgress(Progress& progress, bool measure, TimeLeft left, std::function<double()> clock = {});

  /// `candidate` may be null: a step for the problem as a whole.
  void starting(RunStep step, const Problem& problem, const Candidate* candidate);
  void verified(const Candidate& candidate);
  /// Prints the record where it is a failure.
  void recorded(const Candidate& candidate, const Record& record);
  /// Prints a line that stays on the terminal.
  void message(const std::string& line) { progress_.message(line); }

 private:
  // The time since the previous step ended is counted for the step that ends now.
  void over(TimeLeft::Stage stage);

  Progress& progress_;
  bool measure_;
  TimeLeft left_;
  std::function<double()> clock_;
  double last_;
  std::set<std::string> verified_;  ///< verified but not recorded yet
};

}  // namespace gla_bench
