// What a run does about workers that end, hang, print or eat memory (dispatch.hpp).

#include <algorithm>
#include <sstream>

#include "harness/support/text.hpp"
#include "harness/workers/dispatch.hpp"

namespace gla_bench {
namespace {

constexpr int most_blameless = 3;
constexpr int most_lines = 20;  // that a worker may print per record

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

/// Without what could do something to a terminal.
std::string printable(std::string line) {
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  return line;
}

/// The last line of what a process printed that says something, shortened.
std::string last_line(const std::string& words) {
  std::istringstream lines(words);
  std::string line, last;
  while (std::getline(lines, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  constexpr std::size_t longest = 200;
  if (last.size() > longest) last = last.substr(0, longest) + "...";
  return printable(last);
}

std::string with_last_words(std::string cause, const Death& death) {
  const std::string last = last_line(death.last_words);
  if (!last.empty()) cause += "; the last it printed: " + last;
  return cause;
}

}  // namespace

/// The process has closed its socket: what it said before, or how it ended, is the cause.
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
  if (!(plan_.memory > 0)) return;
  const double resident = slot.process()->resident_bytes();
  if (resident <= plan_.memory) return;
  const Death death = slot.end(true);
  buried(slot,
         {false, "out of host memory: it held " + format_bytes(resident) + ", " +
                     format_bytes(plan_.memory) + " are there"},
         death);
}

void Dispatch::print_output(Slot& slot) {
  for (const std::string& line : slot.process()->take_output()) {
    if (slot.printed++ < most_lines)
      progress_.message(slot.label() + ": " + printable(line));
    else if (slot.printed == most_lines + 1)
      progress_.message(slot.label() + ": (it prints more)");
  }
}

void Dispatch::buried(Slot& slot, const WorkerEnd& end, const Death& death) {
  barred_until_ = std::max(barred_until_, slot.ahead_until);
  if (slot.work() != nullptr) {
    const auto in_hand = slot.work()->in_hand();
    if (in_hand && in_hand->step == RunStep::counters && slot.timed_record)
      keep_timing(slot, *in_hand->candidate, end);
    else
      blame(slot, end);
  } else {
    ++slot.blameless_deaths;
  }
  if (!death.buried)
    retire(slot, "its process can not be killed");
  else if (slot.blameless_deaths >= most_blameless)
    retire(slot, std::to_string(most_blameless) +
                     " workers ended one after the other before they " +
                     "began any work: " + end.cause);
}

/// The candidate in hand is suspected or given up.
void Dispatch::blame(Slot& slot, const WorkerEnd& end) {
  const auto in_hand = slot.work()->in_hand();
  std::vector<GivenUp> given_up;
  if (!slot.work()->died(end, given_up)) {
    ++slot.blameless_deaths;
    return;
  }
  for (const GivenUp& verdict : given_up) give_up(slot, verdict);
  if (!given_up.empty()) return;
  std::string what = "the reference, which is tried again";
  if (in_hand->candidate)
    what = std::string(name(in_hand->step)) + " of " +
           describe(candidate(slot, *in_hand->candidate)) + ", which is tried again alone";
  progress_.message(slot.label() + ": " + end.cause + ", in " + what);
}

/// What was to be counted after timing ended the worker: the timing stands.
void Dispatch::keep_timing(Slot& slot, std::size_t index, const WorkerEnd& end) {
  Record record = *slot.timed_record;
  CounterReading& reading = record.io.measured.emplace();
  reading.source = CounterSource::failed;
  reading.reason = end.cause;
  slot.work()->close(index);
  progress_.recorded(candidate(slot, index), record);
  emit(record);
}

void Dispatch::give_up(Slot& slot, const GivenUp& verdict) {
  const Candidate& of = candidate(slot, verdict.candidate);
  Record record = new_record(*work_[*slot.point()].op, of, plan_.run.place);
  if (slot.last_record && slot.last_record->variant == of.variant->name &&
      slot.last_record->tile == of.tile)
    record = *slot.last_record;
  record.status = verdict.status;
  record.reason = verdict.reason;
  record.device = fact_text(slot.hello()->environment, "uuid");
  progress_.recorded(of, record);
  emit(record);
}

/// Nothing runs in this slot any more; what it was at goes back to the others.
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
