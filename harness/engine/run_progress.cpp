#include "harness/engine/run_progress.hpp"

namespace gla_bench {

void RunProgress::starting(RunStep step, const Problem& problem, const Candidate* candidate) {
  std::string what(name(step));
  if (step == RunStep::reference)
    what += " of " + describe(problem);
  else if (candidate != nullptr)
    what += " " + describe(*candidate);
  progress_.at(what);
}

void RunProgress::verified(const Candidate& candidate) {
  if (measure_ && verified_.insert(describe(candidate)).second) progress_.advance();
}

void RunProgress::recorded(const Candidate& candidate, const Record& record) {
  const bool half_done = verified_.erase(describe(candidate)) > 0;
  if (measure_ && !half_done) progress_.skip(1);
  progress_.advance();
  if (is_failure(record.status)) progress_.message(describe(record));
}

}  // namespace gla_bench
