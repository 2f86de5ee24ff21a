// What a run does about workers that end, hang, print or eat memory (dispatch.hpp).

#include <algorithm>
#include <sstream>

#include "harness/support/printable.hpp"
#include "harness/workers/dispatch.hpp"

namespace gla_bench {
namespace {

constexpr int most_lines = 20;                // that a worker may print per record
constexpr std::size_t longest_message = 500;  // bytes

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

/// The last line of a process's output that is not blank, shortened.
std::string last_line(const std::string& words) {
  std::istringstream lines(words);
  std::string line, last;
  while (std::getline(lines, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return printable(last, 200);
}

std::string with_last_words(std::string cause, const Death& death) {
  const std::string last = last_line(death.last_words);
  if (!last.empty()) cause += "; the last it printed: " + last;
  return cause;
}

}  // namespace

/// The process has closed its socket. The cause is its last message, or else how it ended.
void Dispatch::ended(Slot& slot) {
  const Death death = slot.end(false);
  std::string cause = death.cause;
  if (slot.last_record) cause = slot.last_record->reason;
  if (!slot.last_error.empty()) cause = slot.last_error;
  buried(slot, {false, with_last_words(cause, death)}, death);
}

void Dispatch::check_limits(Slot& slot) {
  if (slot.overdue()) {
    const Death death = slot.end(true);
    const bool working = slot.work() != nullptr && slot.work()->in_hand();
    buried(slot,
           {true, std::string(working ? "it was not done" : "the worker said nothing") + " after " +
                      seconds_text(slot.limit_seconds()) + ", and was killed"},
           death);
    return;
  }
  if (!(conditions_.memory > 0)) return;
  const std::string fault = memory_fault(slot.process()->resident_bytes(), conditions_.memory);
  if (fault.empty()) return;
  const Death death = slot.end(true);
  buried(slot, {false, fault}, death);
}

void Dispatch::print_output(Slot& slot) {
  for (const std::string& line : slot.process()->take_output()) {
    if (slot.printed++ < most_lines)
      progress_.message(slot.label() + ": " + printable(line, longest_message));
    else if (slot.printed == most_lines + 1)
      progress_.message(slot.label() + ": (it prints more)");
  }
}

void Dispatch::buried(Slot& slot, const WorkerEnd& end, const Death& death) {
  barred_until_ = std::max(barred_until_, slot.ahead_until);
  const PointDeath of_point =
      slot.work() != nullptr
          ? slot.work()->died(end, slot.blameless_deaths, slot.timed_record.has_value())
          : PointDeath{after_death({end, std::nullopt, 0, slot.blameless_deaths, false})};
  const DeathDecision& decision = of_point.decision;
  switch (decision.action) {
    case AfterDeath::go_on:
      progress_.message(slot.label() + ": " + replaced_text(end));
      [[fallthrough]];
    case AfterDeath::stop:
      ++slot.blameless_deaths;
      break;
    case AfterDeath::try_again:
      progress_.message(slot.label() + ": " +
                        retry_text(end, of_point.step.step,
                                   of_point.step.candidate
                                       ? &candidate(slot, *of_point.step.candidate)
                                       : nullptr));
      break;
    case AfterDeath::keep_timing:
      keep_timing(slot, of_point.closed.front(), decision);
      break;
    case AfterDeath::give_up:
    case AfterDeath::give_up_problem:
      for (const std::size_t index : of_point.closed) give_up(slot, index, decision);
      break;
  }
  if (!death.buried)
    retire(slot, "its process cannot be killed");
  else if (decision.action == AfterDeath::stop)
    retire(slot, decision.reason);
}

/// Reading the counters after timing ended the worker. The timing is kept.
void Dispatch::keep_timing(Slot& slot, std::size_t index, const DeathDecision& decision) {
  Record record = *slot.timed_record;
  CounterReading& reading = record.io.measured.emplace();
  reading.source = CounterSource::failed;
  reading.reason = decision.reason;
  progress_.recorded(candidate(slot, index), record);
  emit(record);
}

void Dispatch::give_up(Slot& slot, std::size_t index, const DeathDecision& decision) {
  const Candidate& of = candidate(slot, index);
  Record record = new_record(*work_[*slot.point()].op, of, conditions_.place);
  if (slot.last_record && slot.last_record->variant == of.variant->name &&
      slot.last_record->tile == of.tile)
    record = *slot.last_record;
  record.status = decision.status;
  record.reason = decision.reason;
  record.device = fact_text(slot.hello()->environment, "uuid");
  progress_.recorded(of, record);
  emit(record);
}

/// Nothing runs in this slot any more. Its work goes back to the others.
void Dispatch::retire(Slot& slot, const std::string& why) {
  why_retired_ = slot.label() + ": " + why;
  progress_.message(why_retired_);
  if (slot.work() != nullptr) {
    const std::size_t point = *slot.point();
    queue_.push_front({point, slot.leave()});
  }
  slot.retire();
}

}  // namespace gla_bench
