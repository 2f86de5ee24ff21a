#include "harness/search/tune.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "core/candidate_name.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/printable.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::search {
namespace {

using Clock = std::chrono::steady_clock;

/// A signal ends the wait for a worker.
struct Interrupted {
  int signal;
};

std::vector<SearchCandidate> search_candidates(const Assignment& work, const TuneRequest& request) {
  const auto start = request.start ? request.start(work) : std::nullopt;
  std::vector<SearchCandidate> list;
  for (const Candidate& candidate : work.accepted) {
    const Traffic traffic = candidate.variant->traffic(candidate.problem, candidate.tile);
    SearchCandidate one{candidate.variant->name, candidate.tile,
                        traffic.read_bytes + traffic.write_bytes};
    if (request.predictor) {
      const cost_model::Prediction prediction = request.predictor->predict(candidate);
      one.predicted_seconds = prediction.seconds;
      one.predicted_sigma = prediction.sigma;
    }
    one.is_start = start && start->variant == candidate.variant && start->tile == candidate.tile;
    list.push_back(std::move(one));
  }
  return list;
}

SearchOptions search_options(const TuneRequest& request) {
  SearchOptions options = request.search;
  options.seed = request.seed;
  options.copy_bytes_per_second = 1e9 * request.conditions.settings.copy_gb_per_s;
  options.last_level_cache = request.conditions.settings.last_level_cache;
  options.timing = request.conditions.settings.policy.timing;
  options.most_samples = std::min(options.most_samples, options.timing.max_samples);
  return options;
}

/// The candidates whose times may be compared in the end, the fastest first: those that went beyond
/// the screening, or that an exhaustive search sampled to the end.
std::vector<std::size_t> contenders(const Searcher& searcher, Strategy strategy) {
  const auto& findings = searcher.findings();
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (findings[i].left != Left::failed && !findings[i].samples.empty() &&
        (strategy == Strategy::exhaustive ? findings[i].left != Left::slower
                                          : findings[i].rounds > 1 || searcher.best() == i))
      list.push_back(i);
  std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
    return median(findings[a].samples) < median(findings[b].samples);
  });
  return list;
}

class ProblemSearch {
 public:
  ProblemSearch(WorkerClient& client, const Assignment& work, const TuneRequest& request,
                const LiveHooks& journal, Progress& progress)
      : work_(work),
        request_(request),
        journal_(journal),
        progress_(progress),
        client_(client),
        searcher_(make_searcher(request.strategy, search_candidates(work, request),
                                search_options(request))),
        search_(*searcher_, request.budget, [this] { return budgeted_seconds(); }),
        measurer_(client, work, request.conditions, hooks_, request.seed) {
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
      measurer_.check(contenders(*searcher_, request_.strategy), search_);
      check_the_next_best();
    } catch (const Interrupted& interrupted) {
      signal = interrupted.signal;
      searcher_->stop();
    }
    progress_.advance(work_.accepted.size() - seen_.size());
    return signal;
  }

  std::vector<Record> records(int signal) const {
    return searched_records(work_, measurer_.records(), *searcher_, request_.strategy,
                            signal != 0 ? "a signal ended the search" : search_.stop_text(),
                            {0, request_.conditions.settings.copy_gb_per_s,
                             request_.conditions.settings.last_level_cache});
  }

  Breakdown breakdown() const {
    Breakdown breakdown = measurer_.breakdown();
    breakdown.total = seconds();
    breakdown.candidates = search_.spent().candidates;
    return breakdown;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  /// Before the first candidate is verified, the reference is made, which no choice of candidates
  /// can shorten.
  double budgeted_seconds() const {
    return first_ ? std::chrono::duration<double>(Clock::now() - *first_).count() : 0;
  }

  /// Where all that stayed to the end failed their last check, those that left before come next.
  void check_the_next_best() {
    for (std::size_t i = 0; i < work_.accepted.size(); ++i) {
      const auto best = searcher_->best();
      if (!best || measurer_.records()[*best].status != Status::verified) return;
      measurer_.check({*best}, search_);
    }
  }

  void starting(const Candidate& candidate, RunStep step) {
    std::string text;
    if (const auto best = searcher_->best())
      text = "best " + format_ms(1e3 * searcher_->best_seconds()) + " ms " +
             candidate_name(work_.accepted[*best].variant->name, work_.accepted[*best].tile) + "; ";
    progress_.at(text + std::string(name(step)) + " " + describe(candidate));
    if (journal_.starting) journal_.starting(candidate, step);
  }

  /// Has what the next problem's search begins with compiled, on cores that would be idle: few
  /// candidates are compiled any more once the first of this problem is verified.
  void compile_for_the_next() {
    const Assignment* next = request_.upcoming ? request_.upcoming() : nullptr;
    if (next == nullptr || next->accepted.empty()) return;
    if (request_.conditions.place.backend != BackendId::cuda) return;
    const auto searcher = make_searcher(request_.strategy, search_candidates(*next, request_),
                                        search_options(request_));
    NamedPoint point{next->problem, {}};
    for (const Ask& ask : searcher->next().asks) {
      if (point.candidates.size() == request_.search.looks_at_once) break;
      const Candidate& candidate = next->accepted[ask.candidate];
      point.candidates.push_back({candidate.variant->name, candidate.tile});
    }
    client_.ahead(point);
  }

  void recorded(const Record& record) {
    if (!first_) {
      first_ = Clock::now();
      compile_for_the_next();
    }
    if (is_failure(record.status)) progress_.message(describe(record));
    if (seen_.insert(key_of(record)).second) progress_.advance();
    if (journal_.record) journal_.record(record);
  }

  const Assignment& work_;
  const TuneRequest& request_;
  const LiveHooks& journal_;
  Progress& progress_;
  WorkerClient& client_;
  LiveHooks hooks_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> first_;  ///< when the first candidate was verified, or failed
  std::unique_ptr<Searcher> searcher_;
  Search search_;
  LiveMeasurer measurer_;
  std::set<RecordKey> seen_;
};

SearchedProblem searched_problem(const Assignment& work, const std::vector<Record>& records) {
  SearchedProblem tuned{work.problem, work.accepted.size(), 0, {}, 0, 0, 0};
  std::size_t stayed = 0;
  for (const Record& record : records) {
    tuned.tried += was_tried(record) ? 1 : 0;
    tuned.right += record.verification && record.verification->ok ? 1 : 0;
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

TuneEnd tune(WorkerClient& client, std::span<const Assignment> work, const TuneRequest& request,
             const LiveHooks& journal, Progress& progress) {
  TuneEnd end;
  client.while_waiting([&](WorkerProcess& process) -> std::string {
    for (const std::string& line : process.take_output())
      progress.message("worker: " + printable(line, 500));
    if (request.signal)
      if (const auto signal = request.signal()) throw Interrupted{*signal};
    if (!(request.conditions.memory > 0)) return "";
    return memory_fault(process.resident_bytes(), request.conditions.memory);
  });
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Assignment& point = work[i];
    for (const Record& record : point.refused)
      if (journal.record) journal.record(record);
    if (point.accepted.empty()) continue;
    TuneRequest of_point = request;
    if (!of_point.upcoming)
      of_point.upcoming = [next = i + 1 < work.size() ? &work[i + 1] : nullptr] { return next; };
    ProblemSearch problem_search(client, point, of_point, journal, progress);
    end.signal = problem_search.run();
    const auto records = problem_search.records(end.signal);
    for (const Record& record : records)
      if (journal.record) journal.record(record);
    end.breakdown += problem_search.breakdown();
    end.problems.push_back(searched_problem(point, records));
    end.problems.back().seconds = problem_search.breakdown().total;
    if (end.signal != 0) break;
  }
  client.while_waiting({});
  return end;
}

std::size_t drop_searched(std::vector<Assignment>& work, std::span<const Record> recorded) {
  std::map<RecordKey, const Record*> known;
  for (const Record& record : recorded) known[key_of(record)] = &record;
  const auto record_of = [&](const Candidate& c) -> const Record* {
    const auto found = known.find(key_of(c));
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

}  // namespace gla_bench::search
