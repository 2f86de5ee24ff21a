#include "harness/engine/run_progress.hpp"

#include <chrono>
#include <utility>

namespace gla_bench {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

RunProgress::RunProgress(Progress& progress, bool measure, TimeLeft left,
                         std::function<double()> clock)
    : progress_(progress),
      measure_(measure),
      left_(left),
      clock_(clock ? std::move(clock) : steady_seconds),
      last_(clock_()) {}

void RunProgress::over(TimeLeft::Stage stage) {
  const double now = clock_();
  left_.took(stage, now - last_);
  last_ = now;
  progress_.expect_left(left_.seconds());
}

void RunProgress::starting(RunStep step, const Problem& problem, const Candidate* candidate) {
  std::string what(name(step));
  if (step == RunStep::reference)
    what += " of " + describe(problem);
  else if (candidate != nullptr)
    what += " " + describe(*candidate);
  progress_.at(what);
}

void RunProgress::verified(const Candidate& candidate) {
  if (!measure_ || !verified_.insert(describe(candidate)).second) return;
  over(TimeLeft::Stage::verify);
  progress_.advance();
}

void RunProgress::recorded(const Candidate& candidate, const Record& record) {
  const bool half_done = verified_.erase(describe(candidate)) > 0;
  if (measure_ && !half_done) {
    left_.skip(TimeLeft::Stage::measure);
    progress_.skip(1);
  }
  over(half_done ? TimeLeft::Stage::measure : TimeLeft::Stage::verify);
  progress_.advance();
  if (is_failure(record.status)) progress_.message(describe(record));
}

}  // namespace gla_bench
