#include "harness/search/live.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t choice = 64;  // candidates of which the worker takes the first compiled
constexpr std::size_t compile_ahead = 64;  // candidates that are compiled before it is their turn

}  // namespace

LiveMeasurer::LiveMeasurer(WorkerClient& client, const Assignment& work,
                           const WorkConditions& conditions, const LiveHooks& hooks,
                           std::uint64_t seed)
    : client_(client),
      work_(work),
      conditions_(conditions),
      hooks_(hooks),
      random_(seed),
      deaths_(work.accepted.size()) {
  for (const Candidate& candidate : work.accepted)
    records_.push_back(new_record(*work.op, candidate, conditions.place));
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

/// Takes each candidate as soon as it is compiled.
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

/// The candidates among which the worker may choose. Those that are no longer wanted leave
/// `pending`.
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
  if (conditions_.place.backend != BackendId::cuda || suspect_) return;
  Indices fresh;
  const auto consider = [&](std::size_t candidate) {
    if (!told_.contains(candidate) && !barred_.contains(candidate) && !held_.contains(candidate))
      fresh.push_back(candidate);
  };
  std::size_t considered = 0;
  for (const std::deque<std::size_t>* list : {&pending, &std::as_const(outlook_)})
    for (const std::size_t candidate : *list)
      if (considered++ < compile_ahead) consider(candidate);
  if (fresh.empty()) return;
  told_.insert(fresh.begin(), fresh.end());
  client_.ahead(named(fresh));
}

/// Samples in seconds; empty where the candidate failed. A candidate whose worker died is held
/// again, alone.
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
      breakdown_.measure += seconds_since(start);
      note_clock(candidate, taken);
      return taken.seconds;
    } catch (const WorkerLost& gone) {
      breakdown_.measure += seconds_since(start);
      lost(gone, StepEvent{RunStep::measure, candidate}, search);
    } catch (const RunError& error) {
      breakdown_.measure += seconds_since(start);
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
      lost(gone, StepEvent{RunStep::verify, candidate}, search);
    } catch (const RunError& error) {
      held_.erase(candidate);
      give_up(candidate, Status::run_failed, error.what(), search);
    }
    breakdown_.measure += seconds_since(start);
  }
}

void LiveMeasurer::note_clock(std::size_t candidate, const Samples& samples) {
  if (!samples.clock_mhz) return;
  Record& record = records_[candidate];
  if (!record.timing) {
    record.timing.emplace().clock_mhz_before = samples.clock_mhz;
    record.timing->cold.stopped_because = "search";  // also where it fails before it has a series
  }
  record.timing->clock_mhz_after = samples.clock_mhz;
}

bool LiveMeasurer::is_suspect_now(std::size_t candidate, const Search& search) const {
  return is_suspect(median(search.searcher().findings()[candidate].samples),
                    {work_.op->work(work_.problem).least_bytes(),
                     conditions_.settings.copy_gb_per_s, conditions_.settings.last_level_cache});
}

double LiveMeasurer::limit(std::size_t candidate, RunStep step) const {
  return step_limit(conditions_, step, *work_.op, work_.problem, &work_.accepted[candidate]);
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

}  // namespace gla_bench::search
