// The candidates that a worker holds: how they come to be held, give their memory back, and end.

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/search/live.hpp"
#include "harness/support/elapsed.hpp"

namespace gla_bench::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_in_memory = 48;
constexpr double share_of_memory = 0.5;  // of what is free beside the problem, for workspaces

}  // namespace

/// One of the candidates, verified or failed; nothing where the worker died.
std::optional<std::size_t> LiveMeasurer::hold_one(const Indices& few, Search& search) {
  std::optional<StepEvent> in_hand;
  auto mark = Clock::now();
  double* goes_to = &breakdown_.wait;
  const auto settle = [&](double* next) {
    *goes_to += seconds_since(mark);
    mark = Clock::now();
    goes_to = next;
  };
  try {
    make_room(*std::max_element(few.begin(), few.end(), [&](std::size_t a, std::size_t b) {
      return records_[a].io.workspace_bytes < records_[b].io.workspace_bytes;
    }));
    const auto [place, record] = client_.hold(named(few), [&](const StepEvent& event) {
      settle(event.step == RunStep::measure ? &breakdown_.measure : &breakdown_.verify);
      in_hand = event;
      if (!event.candidate) return limit(few.front(), event.step);
      const std::size_t candidate = few.at(*event.candidate);
      in_hand->candidate = candidate;
      search.trying(candidate);
      if (hooks_.starting) hooks_.starting(work_.accepted[candidate], event.step);
      return limit(candidate, event.step);
    });
    settle(nullptr);
    held(few[place], record, search);
    return few[place];
  } catch (const WorkerLost& gone) {
    *goes_to += seconds_since(mark);
    lost(gone, in_hand, search);
    return std::nullopt;
  }
}

void LiveMeasurer::held(std::size_t candidate, Record record, Search& search) {
  blameless_ = 0;
  if (suspect_ == candidate) {
    suspect_.reset();
    if (hooks_.message) hooks_.message(std::string(acquittal_text));
  }
  if (record.build && !record.build->cached && !records_[candidate].build)
    breakdown_.compile += record.build->seconds;
  search.trying(candidate);
  records_[candidate] = std::move(record);
  const Record& now = records_[candidate];
  if (now.status == Status::verified) {
    held_.insert(candidate);
    in_memory_.push_back(candidate);
  } else {
    search.fail(candidate);
  }
  if (hooks_.record) hooks_.record(now);
  if (now.reason.starts_with(before_any_candidate))
    give_up_all(now.status, std::string(now.reason), search);
}

/// Frees the workspaces of the candidates that were sampled least recently.
void LiveMeasurer::make_room(std::size_t candidate) {
  const auto bytes = [&](std::size_t c) { return records_[c].io.workspace_bytes; };
  double room = static_cast<double>(conditions_.place.limits.memory_bytes);
  for (const TensorSpec& spec : work_.op->tensors(work_.problem))
    room -= static_cast<double>(spec.memory_bytes());
  room *= share_of_memory;
  double taken = bytes(candidate);
  for (const std::size_t c : in_memory_)
    if (c != candidate) taken += bytes(c);
  Indices going;
  while (!in_memory_.empty() && (taken > room || in_memory_.size() >= most_in_memory)) {
    const std::size_t oldest = in_memory_.front();
    in_memory_.pop_front();
    if (oldest == candidate) continue;
    taken -= bytes(oldest);
    going.push_back(oldest);
  }
  if (!going.empty()) client_.release(named(going));
}

void LiveMeasurer::lost(const WorkerLost& lost, const std::optional<StepEvent>& in_hand,
                        Search& search) {
  held_.clear();
  in_memory_.clear();
  // A candidate that was being compiled beside it may be to blame. Those are compiled in their
  // turn, unless this candidate proves to be at fault.
  barred_.insert(told_.begin(), told_.end());
  told_.clear();
  suspect_.reset();
  const auto candidate = in_hand ? in_hand->candidate : std::nullopt;
  int nobody = 0;
  int& deaths = !in_hand ? nobody : candidate ? deaths_[*candidate] : problem_deaths_;
  const DeathDecision decision = after_death({lost.end, in_hand, deaths++, blameless_, false});
  switch (decision.action) {
    case AfterDeath::go_on:
      if (hooks_.message) hooks_.message(replaced_text(lost.end));
      ++blameless_;
      break;
    case AfterDeath::stop:
      throw WorkerError(decision.reason);
    case AfterDeath::try_again:
      suspect_ = candidate;
      if (hooks_.message)
        hooks_.message(
            retry_text(lost.end, in_hand->step, candidate ? &work_.accepted[*candidate] : nullptr));
      break;
    case AfterDeath::keep_timing:
    case AfterDeath::give_up:
      barred_.clear();
      give_up(*candidate, decision.status, decision.reason, search);
      break;
    case AfterDeath::give_up_problem:
      give_up_all(decision.status, decision.reason, search);
      break;
  }
  client_.restart();
}

/// The problem itself cannot be worked on.
void LiveMeasurer::give_up_all(Status status, const std::string& reason, Search& search) {
  for (std::size_t i = 0; i < records_.size(); ++i)
    if (!is_failure(records_[i].status)) give_up(i, status, reason, search);
}

void LiveMeasurer::give_up(std::size_t candidate, Status status, const std::string& reason,
                           Search& search) {
  records_[candidate].status = status;
  records_[candidate].reason = reason;
  search.fail(candidate);
  if (hooks_.record) hooks_.record(records_[candidate]);
}

}  // namespace gla_bench::search
