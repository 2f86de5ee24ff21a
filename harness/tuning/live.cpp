#include "harness/tuning/live.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/error.hpp"
#include "harness/statistics.hpp"

namespace gla_bench::tuning {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t choice = 64;  // candidates of which the worker takes the first compiled
constexpr std::size_t most_in_memory = 48;
constexpr std::string_view before_any = "before any candidate ran: ";  // of run_point()
constexpr double share_of_memory = 0.5;  // of what is free beside the problem, for workspaces

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

LiveMeasurer::LiveMeasurer(WorkerClient& client, const Assignment& work, const LivePlan& plan,
                           const LiveHooks& hooks, std::uint64_t seed)
    : client_(client),
      work_(work),
      plan_(plan),
      hooks_(hooks),
      random_(seed),
      deaths_(work.accepted.size()) {
  for (const Candidate& candidate : work.accepted)
    records_.push_back(new_record(*work.op, candidate, plan.place));
}

void LiveMeasurer::measure(const Batch& batch, const std::vector<std::size_t>& outlook,
                           Search& search) {
  outlook_.assign(outlook.begin(), outlook.end());
  if (!batch.joint) {
    std::deque<std::size_t> pending;
    for (const Ask& ask : batch.asks) pending.push_back(ask.candidate);
    look_at(std::move(pending), batch.asks.front().samples, search);
    return;
  }
  hold_all(batch, search);
  for (const Turn& turn : turns_of(batch, random_)) {
    if (search.is_over()) return;
    if (!search.admits(turn.candidate)) continue;
    std::vector<double> samples = sample(turn.candidate, turn.discarded + turn.kept, search);
    if (samples.empty()) continue;
    samples.erase(samples.begin(), samples.begin() + turn.discarded);
    search.tell(turn.candidate, samples);
    if (is_suspect_now(turn.candidate, search)) search.fail(turn.candidate);
  }
}

/// Each as soon as it is compiled.
void LiveMeasurer::look_at(std::deque<std::size_t> pending, int samples, Search& search) {
  while (!search.is_over()) {
    const Indices few = next_few(pending, search);
    if (few.empty()) return;
    tell_ahead(pending);
    const auto candidate = hold_one(few, search);
    if (!candidate) continue;  // a worker died: whoever was in hand is tried again, or is recorded
    std::erase(pending, *candidate);
    if (records_[*candidate].status != Status::verified) continue;
    const auto taken = sample(*candidate, samples, search);
    if (taken.empty()) continue;
    search.tell(*candidate, taken);
    if (is_suspect_now(*candidate, search)) search.fail(*candidate);
  }
}

/// Candidates of a joint batch that this worker does not hold.
void LiveMeasurer::hold_all(const Batch& batch, Search& search) {
  std::deque<std::size_t> pending;
  for (const Ask& ask : batch.asks)
    if (!held_.contains(ask.candidate)) pending.push_back(ask.candidate);
  while (!search.is_over()) {
    const Indices few = next_few(pending, search);
    if (few.empty()) return;
    tell_ahead(pending);
    if (const auto candidate = hold_one(few, search)) std::erase(pending, *candidate);
  }
}

/// Of whom the worker may choose; what is not wanted any more leaves `pending`.
LiveMeasurer::Indices LiveMeasurer::next_few(std::deque<std::size_t>& pending,
                                             Search& search) const {
  std::erase_if(pending,
                [&](std::size_t c) { return is_failure(records_[c].status) || !search.admits(c); });
  if (pending.empty()) return {};
  if (suspect_ && std::find(pending.begin(), pending.end(), *suspect_) != pending.end())
    return {*suspect_};
  const std::size_t count =
      std::min({choice, pending.size(), std::max<std::size_t>(1, search.room())});
  return {pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(count)};
}

void LiveMeasurer::tell_ahead(const std::deque<std::size_t>& pending) {
  if (plan_.place.backend != BackendId::cuda || suspect_) return;
  Indices fresh;
  const auto consider = [&](std::size_t candidate) {
    if (!told_.contains(candidate) && !barred_.contains(candidate) && !held_.contains(candidate))
      fresh.push_back(candidate);
  };
  std::size_t considered = 0;
  for (const std::deque<std::size_t>* list : {&pending, &std::as_const(outlook_)})
    for (const std::size_t candidate : *list)
      if (considered++ < plan_.compile_ahead) consider(candidate);
  if (fresh.empty()) return;
  told_.insert(fresh.begin(), fresh.end());
  client_.ahead(named(fresh));
}

/// One of them, verified or failed; nothing where the worker died.
std::optional<std::size_t> LiveMeasurer::hold_one(const Indices& few, Search& search) {
  std::optional<std::size_t> in_hand;
  auto mark = Clock::now();
  double* goes_to = &breakdown_.wait;
  const auto settle = [&](double* next) {
    *goes_to += since(mark);
    mark = Clock::now();
    goes_to = next;
  };
  try {
    make_room(*std::max_element(few.begin(), few.end(), [&](std::size_t a, std::size_t b) {
      return records_[a].io.workspace_bytes < records_[b].io.workspace_bytes;
    }));
    const auto [place, record] = client_.hold(named(few), [&](const StepEvent& event) {
      settle(event.step == RunStep::measure ? &breakdown_.measure : &breakdown_.verify);
      in_hand.reset();
      on_problem_ = !event.candidate;
      if (on_problem_) return limit(few.front(), event.step);
      in_hand = few.at(*event.candidate);
      search.trying(*in_hand);
      if (hooks_.starting) hooks_.starting(work_.accepted[*in_hand], event.step);
      return limit(*in_hand, event.step);
    });
    settle(nullptr);
    held(few[place], record, search);
    return few[place];
  } catch (const WorkerLost& gone) {
    *goes_to += since(mark);
    lost(gone, in_hand, search);
    return std::nullopt;
  }
}

void LiveMeasurer::held(std::size_t candidate, Record record, Search& search) {
  blameless_ = 0;
  if (suspect_ == candidate) {
    suspect_.reset();
    if (hooks_.message)
      hooks_.message(
          "it went through when tried alone; what was being compiled ahead is compiled in "
          "its turn");
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
  if (now.reason.starts_with(before_any)) give_up_all(now.status, std::string(now.reason), search);
}

/// Workspaces of those that were not sampled for the longest time go.
void LiveMeasurer::make_room(std::size_t candidate) {
  const auto bytes = [&](std::size_t c) { return records_[c].io.workspace_bytes; };
  double room = static_cast<double>(plan_.place.limits.memory_bytes);
  for (const TensorSpec& spec : work_.op->tensors(work_.problem))
    room -= static_cast<double>(spec.bytes());
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

/// Seconds; empty where the candidate failed. One whose worker died is held anew, alone.
std::vector<double> LiveMeasurer::sample(std::size_t candidate, int samples, Search& search) {
  while (records_[candidate].status == Status::verified) {
    if (!held_.contains(candidate)) {
      hold_one({candidate}, search);
      continue;
    }
    const auto start = Clock::now();
    try {
      make_room(candidate);
      std::erase(in_memory_, candidate);
      in_memory_.push_back(candidate);
      SampleRequest request{CacheState::cold, samples, 1, named(candidate)};
      const Samples taken = client_.sample(request, limit(candidate, RunStep::measure));
      breakdown_.measure += since(start);
      note_clock(candidate, taken);
      return taken.seconds;
    } catch (const WorkerLost& gone) {
      breakdown_.measure += since(start);
      lost(gone, candidate, search);
    } catch (const RunError& error) {
      breakdown_.measure += since(start);
      held_.erase(candidate);
      give_up(candidate, Status::run_failed, error.what(), search);
    }
  }
  return {};
}

void LiveMeasurer::check(const Indices& candidates, Search& search) {
  for (const std::size_t candidate : candidates) {
    if (records_[candidate].status != Status::verified) continue;
    if (!held_.contains(candidate)) {
      hold_one({candidate}, search);
      if (!held_.contains(candidate)) continue;
    }
    const auto start = Clock::now();
    try {
      make_room(candidate);
      const double seconds = median(search.searcher().findings()[candidate].samples);
      Record checked =
          client_.check(limit(candidate, RunStep::verify), {named(candidate), seconds});
      std::optional<Timing> clocks = records_[candidate].timing;
      records_[candidate] = std::move(checked);
      Timing& timing = *records_[candidate].timing;
      if (clocks) {
        timing.clock_mhz_before = clocks->clock_mhz_before;
        timing.clock_mhz_after = clocks->clock_mhz_after;
      }
      if (is_failure(records_[candidate].status) || timing.suspect) search.fail(candidate);
    } catch (const WorkerLost& gone) {
      lost(gone, candidate, search);
    } catch (const RunError& error) {
      held_.erase(candidate);
      give_up(candidate, Status::run_failed, error.what(), search);
    }
    breakdown_.measure += since(start);
  }
}

void LiveMeasurer::lost(const WorkerLost& lost, std::optional<std::size_t> in_hand,
                        Search& search) {
  constexpr int most_blameless = 3;
  held_.clear();
  in_memory_.clear();
  // What was being compiled beside it may be to blame: it is compiled in its turn, unless the
  // candidate proves to be so.
  barred_.insert(told_.begin(), told_.end());
  told_.clear();
  suspect_.reset();
  const Status status = lost.timed_out ? Status::timeout : Status::crashed;
  if (std::exchange(on_problem_, false)) {
    if (lost.timed_out || ++problem_deaths_ > 1)
      give_up_all(status, std::string(before_any) + lost.what(), search);
  } else if (!in_hand) {
    if (++blameless_ >= most_blameless) throw WorkerError(lost.what());
  } else if (lost.timed_out || ++deaths_[*in_hand] > 1) {
    barred_.clear();
    give_up(*in_hand, status,
            std::string(lost.what()) + (lost.timed_out ? "" : "; when tried again alone, too"),
            search);
  } else {
    suspect_ = in_hand;
    if (hooks_.message)
      hooks_.message(std::string(lost.what()) + ", in " + describe(work_.accepted[*in_hand]) +
                     ", which is tried again alone");
  }
  client_.restart();
}

/// The problem itself can not be worked on.
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

void LiveMeasurer::note_clock(std::size_t candidate, const Samples& samples) {
  if (!samples.clock_mhz) return;
  Record& record = records_[candidate];
  if (!record.timing) record.timing.emplace().clock_mhz_before = samples.clock_mhz;
  record.timing->clock_mhz_after = samples.clock_mhz;
}

bool LiveMeasurer::is_suspect_now(std::size_t candidate, const Search& search) const {
  return is_suspect(
      median(search.searcher().findings()[candidate].samples),
      {records_[candidate].io.floor_bytes, plan_.copy_gb_per_s, plan_.last_level_cache});
}

double LiveMeasurer::limit(std::size_t candidate, RunStep step) const {
  const Candidate& of = work_.accepted[candidate];
  const Traffic traffic = of.variant->traffic(of.problem, of.tile);
  const Work least = work_.op->work(work_.problem);
  const StepWork work{std::max(least.floor_bytes, traffic.read_bytes + traffic.write_bytes),
                      std::max(least.flops, of.variant->flops(of.problem, of.tile))};
  return step_limit(step, work, plan_.rates, plan_.policy.limits, plan_.policy.timing);
}

NamedCandidate LiveMeasurer::named(std::size_t candidate) const {
  return {work_.accepted[candidate].variant->name, work_.accepted[candidate].tile};
}

NamedPoint LiveMeasurer::named(const Indices& candidates) const {
  NamedPoint point{work_.problem, {}};
  for (const std::size_t candidate : candidates) point.candidates.push_back(named(candidate));
  return point;
}

double Breakdown::candidates_per_minute() const {
  return total > 0 ? 60 * static_cast<double>(candidates) / total : 0;
}

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  total += other.total;
  wait += other.wait;
  verify += other.verify;
  measure += other.measure;
  compile += other.compile;
  candidates += other.candidates;
  return *this;
}

}  // namespace gla_bench::tuning
