#include "harness/search/tune.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "harness/support/printable.hpp"
#include "harness/support/statistics.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::tuning {
namespace {

using Clock = std::chrono::steady_clock;

/// A signal ends the wait for a worker.
struct Interrupted {
  int signal;
};

std::vector<SearchCandidate> search_candidates(const Assignment& work) {
  std::vector<SearchCandidate> list;
  for (const Candidate& candidate : work.accepted) {
    const Traffic traffic = candidate.variant->traffic(candidate.problem, candidate.tile);
    list.push_back(
        {candidate.variant->name, candidate.tile, traffic.read_bytes + traffic.write_bytes});
  }
  return list;
}

SearchOptions search_options(const TunePlan& plan) {
  SearchOptions options = plan.search;
  options.seed = plan.seed;
  options.copy_bytes_per_second = 1e9 * plan.live.copy_gb_per_s;
  options.last_level_cache = plan.live.last_level_cache;
  options.timing = plan.live.policy.timing;
  options.most_samples = std::min(options.most_samples, options.timing.max_samples);
  return options;
}

/// Those whose times may be held against each other in the end: all that went beyond the first
/// look, the fastest first.
std::vector<std::size_t> contenders(const Searcher& searcher, Strategy strategy) {
  const auto& findings = searcher.findings();
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (findings[i].left != Left::failed && !findings[i].samples.empty() &&
        (strategy == Strategy::exhaustive || findings[i].rounds > 1 || searcher.best() == i))
      list.push_back(i);
  std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
    return median(findings[a].samples) < median(findings[b].samples);
  });
  return list;
}

class ProblemTuning {
 public:
  ProblemTuning(WorkerClient& client, const Assignment& work, const TunePlan& plan,
                const LiveHooks& journal, Progress& progress)
      : work_(work),
        plan_(plan),
        journal_(journal),
        progress_(progress),
        searcher_(make_searcher(plan.strategy, search_candidates(work), search_options(plan))),
        search_(*searcher_, plan.budget, [this] { return seconds(); }),
        measurer_(client, work, plan.live, hooks_, plan.seed) {
    hooks_.starting = [this](const Candidate& candidate, RunStep step) {
      starting(candidate, step);
    };
    hooks_.record = [this](const Record& record) { recorded(record); };
    hooks_.message = [this](const std::string& line) { progress_.message(line); };
  }

  /// The signal that ended it, or 0.
  int run() {
    int signal = 0;
    try {
      run_search(*searcher_, search_, measurer_);
      measurer_.check(contenders(*searcher_, plan_.strategy), search_);
    } catch (const Interrupted& interrupted) {
      signal = interrupted.signal;
      searcher_->stop();
    }
    progress_.advance(work_.accepted.size() - seen_.size());
    return signal;
  }

  std::vector<Record> records(int signal) const {
    return searched_records(work_, measurer_.records(), *searcher_, plan_.strategy,
                            signal != 0 ? "a signal ended the search" : search_.stop_text(),
                            {0, plan_.live.copy_gb_per_s, plan_.live.last_level_cache});
  }

  Breakdown breakdown() const {
    Breakdown breakdown = measurer_.breakdown();
    breakdown.total = seconds();
    breakdown.candidates = search_.spent().candidates;
    return breakdown;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void starting(const Candidate& candidate, RunStep step) {
    std::string text;
    if (const auto best = searcher_->best())
      text = "best " + milliseconds_text(1e3 * searcher_->best_seconds()) + " ms " +
             work_.accepted[*best].variant->name + " " + describe(work_.accepted[*best].tile) +
             "; ";
    progress_.at(text + std::string(name(step)) + " " + describe(candidate));
    if (journal_.starting) journal_.starting(candidate, step);
  }

  void recorded(const Record& record) {
    if (is_failure(record.status)) progress_.message(describe(record));
    if (seen_.insert(key_of(record)).second) progress_.advance();
    if (journal_.record) journal_.record(record);
  }

  const Assignment& work_;
  const TunePlan& plan_;
  const LiveHooks& journal_;
  Progress& progress_;
  LiveHooks hooks_;
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<Searcher> searcher_;
  Search search_;
  LiveMeasurer measurer_;
  std::set<RecordKey> seen_;
};

TunedProblem tuned_problem(const Assignment& work, const std::vector<Record>& records) {
  TunedProblem tuned{work.problem, work.accepted.size(), 0, {}, 0};
  std::size_t stayed = 0;
  for (const Record& record : records) {
    tuned.tried += was_tried(record) ? 1 : 0;
    if (record.status != Status::measured || record.timing->suspect) continue;
    stayed += record.search->left == name(Left::end) ? 1 : 0;
    const auto rank = [](const Record& r) {
      return std::pair(r.search->left == name(Left::end) ? 0 : 1, r.timing->cold.median_ms);
    };
    if (!tuned.best || rank(record) < rank(*tuned.best)) tuned.best = record;
  }
  tuned.ties = stayed > 0 ? stayed - 1 : 0;
  return tuned;
}

}  // namespace

TuneEnd tune(WorkerClient& client, std::span<const Assignment> work, const TunePlan& plan,
             const LiveHooks& journal, Progress& progress) {
  TuneEnd end;
  client.while_waiting([&](WorkerProcess& process) -> std::string {
    for (const std::string& line : process.take_output())
      progress.message("worker: " + printable(line, 500));
    if (plan.signal)
      if (const auto signal = plan.signal()) throw Interrupted{*signal};
    const double resident = plan.live.memory > 0 ? process.resident_bytes() : 0;
    if (!(resident > plan.live.memory)) return "";
    return "out of host memory: it held " + format_bytes(resident) + ", " +
           format_bytes(plan.live.memory) + " are there";
  });
  for (const Assignment& point : work) {
    for (const Record& record : point.refused)
      if (journal.record) journal.record(record);
    if (point.accepted.empty()) continue;
    ProblemTuning tuning(client, point, plan, journal, progress);
    end.signal = tuning.run();
    const auto records = tuning.records(end.signal);
    for (const Record& record : records)
      if (journal.record) journal.record(record);
    end.breakdown += tuning.breakdown();
    end.problems.push_back(tuned_problem(point, records));
    if (end.signal != 0) break;
  }
  client.while_waiting({});
  return end;
}

std::size_t drop_searched(std::vector<Assignment>& work, std::span<const Record> recorded) {
  std::map<RecordKey, const Record*> known;
  for (const Record& record : recorded) known[key_of(record)] = &record;
  const auto record_of = [&](const Candidate& c) -> const Record* {
    const auto found = known.find({c.problem, c.variant->name, c.variant->backend, c.tile});
    return found == known.end() ? nullptr : found->second;
  };
  const auto is_settled = [&](const Candidate& candidate) {
    const Record* record = record_of(candidate);
    return record != nullptr && record->search && record->search->left != name(Left::stopped);
  };
  std::size_t done = 0;
  for (Assignment& point : work) {
    if (point.accepted.empty()) continue;
    if (std::all_of(point.accepted.begin(), point.accepted.end(), is_settled)) {
      point.accepted.clear();
      ++done;
      continue;
    }
    std::erase_if(point.accepted, [&](const Candidate& candidate) {
      const Record* record = record_of(candidate);
      return record != nullptr && is_failure(record->status);
    });
  }
  return done;
}

}  // namespace gla_bench::tuning
