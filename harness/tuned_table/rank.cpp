#include "harness/tuned_table/rank.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "harness/records/contest.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

constexpr double error_step = 1.1;  // errors within such a factor are alike
/// How much slower than the best a candidate counts at least where it has no time.
constexpr double least_unknown = 1.05;

/// One variant and tile, on all problems of the bucket.
struct Rival {
  std::string variant;
  Tile tile;
  std::map<Problem, const Record*> timed;
  bool failed = false;
  bool searched = true;  ///< no search left it before its end: its median is as sure as any
  double error = 0, workspace = 0;
  std::map<Problem, double> logs;  ///< of its time over the problem's best
  double mean_log = 0;             ///< of them over all problems
  std::string source_hash;

  void add(const Record& record) {
    if (is_failure(record.status)) failed = true;
    if (!may_win(record)) return;
    timed[record.problem] = &record;
    if (!measured_to_end(record)) searched = false;
    source_hash = record.source_hash;
    workspace = std::max(workspace, record.io.workspace_bytes);
    for (const auto& [tensor, verdict] : record.verification->tensors)
      error = std::max(error, verdict.rel_l2);
  }
};

double median_of(const Record& record) {
  return record.timing->cold.median_ms;
}

using Best = std::map<Problem, const Record*>;

Best best_of(const std::vector<Rival>& rivals) {
  Best best;
  for (const Rival& rival : rivals)
    for (const auto& [problem, record] : rival.timed) {
      const Record*& known = best[problem];
      if (known == nullptr || is_faster(*record, *known)) known = record;
    }
  return best;
}

/// The candidates that may win: right everywhere, and timed.
std::vector<Rival> rivals_of(std::span<const Record* const> rows, TunedEntry& entry) {
  std::map<std::pair<std::string, Tile>, Rival> all;
  for (const Record* row : rows) {
    if (row->peer) continue;
    Rival& rival = all[{row->variant, row->tile}];
    rival.variant = row->variant;
    rival.tile = row->tile;
    rival.add(*row);
  }
  std::vector<Rival> list;
  for (auto& [key, rival] : all) {
    entry.failed += rival.failed ? 1 : 0;
    if (rival.failed || rival.timed.empty()) continue;
    for (const auto& [problem, record] : rival.timed)
      entry.throttled += record->timing->throttled ? 1 : 0;
    list.push_back(std::move(rival));
  }
  entry.candidates = list.size();
  return list;
}

/// Least squares of log time = a problem's share + a candidate's share. What a candidate would take
/// where it was not timed follows from how it compares, where it was, with those that were timed
/// there.
class Shares {
 public:
  explicit Shares(const std::vector<Rival>& list) : of_rival_(list.size(), 0.0) {
    constexpr int most_rounds = 100;
    constexpr double still = 1e-12;
    double moved = 1;
    for (int round = 0; round < most_rounds && moved > still; ++round) {
      std::map<Problem, std::vector<double>> left;
      for (std::size_t i = 0; i < list.size(); ++i)
        for (const auto& [problem, log] : list[i].logs) left[problem].push_back(log - of_rival_[i]);
      for (const auto& [problem, values] : left) of_problem_[problem] = mean_of(values);
      moved = 0;
      for (std::size_t i = 0; i < list.size(); ++i) {
        std::vector<double> own;
        for (const auto& [problem, log] : list[i].logs)
          own.push_back(log - of_problem_.at(problem));
        const double share = mean_of(own);
        moved = std::max(moved, std::abs(share - of_rival_[i]));
        of_rival_[i] = share;
      }
    }
  }

  /// What rival number i counts as on a problem that it was not timed on. That it would be as fast
  /// as the best there is not known.
  double unknown(std::size_t i, const Problem& problem) const {
    return std::max(of_problem_.at(problem) + of_rival_[i], std::log(least_unknown));
  }

 private:
  static double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  std::map<Problem, double> of_problem_;
  std::vector<double> of_rival_;
};

/// Sorts candidates that were measured to the end first, and by time within that. Names and tiles
/// decide between equals, so that the order is always the same.
void sort_by_time(std::vector<Rival>& list, const Best& best) {
  for (Rival& rival : list)
    for (const auto& [problem, record] : rival.timed)
      rival.logs[problem] = std::log(median_of(*record) / median_of(*best.at(problem)));
  const Shares shares(list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    double sum = 0;
    for (const auto& [problem, record] : best) {
      const auto own = list[i].logs.find(problem);
      sum += own == list[i].logs.end() ? shares.unknown(i, problem) : own->second;
    }
    list[i].mean_log = sum / static_cast<double>(best.size());
  }
  std::sort(list.begin(), list.end(), [](const Rival& a, const Rival& b) {
    return std::tuple(!a.searched, a.mean_log, a.variant, a.tile) <
           std::tuple(!b.searched, b.mean_log, b.variant, b.tile);
  });
}

/// Time of `other` over `base`: the geometric mean over the problems that both have.
RatioEstimate ratio_of(const Rival& base, const Rival& other, const TablePolicy& policy) {
  std::vector<RatioEstimate> ratios;
  for (const auto& [problem, record] : other.timed)
    if (const auto found = base.timed.find(problem); found != base.timed.end())
      ratios.push_back(unpaired_ratio(found->second->timing->cold.samples_ms,
                                      record->timing->cold.samples_ms, 0,
                                      policy.contest.bootstrap));
  return mean_ratio(ratios, policy.contest.drift);
}

/// False where the two share no problem, since then nothing shows that they are alike.
bool is_tied_with(const Rival& fastest, const Rival& other, const TablePolicy& policy) {
  const RatioEstimate estimate = ratio_of(fastest, other, policy);
  return estimate.count > 0 && is_tied(estimate);
}

TunedChoice choice_of(const Rival& rival, const Rival& winner, const TablePolicy& policy) {
  TunedChoice choice{
      rival.variant, rival.tile, rival.source_hash, rival.error, rival.workspace, 1, 1, 1};
  if (&rival == &winner) return choice;
  const RatioEstimate estimate = ratio_of(winner, rival, policy);
  choice.ratio = estimate.ratio;
  choice.low = estimate.low;
  choice.high = estimate.high;
  return choice;
}

int error_grade(const Rival& rival) {
  if (!(rival.error > 0)) return -100000;
  return static_cast<int>(std::lround(std::log(rival.error) / std::log(error_step)));
}

/// Smaller error first, then smaller workspace, then time (where they stand).
std::string decide(std::vector<const Rival*>& tied) {
  std::stable_sort(tied.begin(), tied.end(), [](const Rival* a, const Rival* b) {
    return std::pair(error_grade(*a), a->workspace) < std::pair(error_grade(*b), b->workspace);
  });
  if (tied.size() < 2) return "time";
  const Rival &first = *tied[0], &second = *tied[1];
  if (error_grade(first) != error_grade(second)) return "error";
  return first.workspace < second.workspace ? "workspace" : "time";
}

void add_problems(TunedEntry& entry, const Rival& winner, const Best& best,
                  const TablePolicy& policy) {
  std::vector<double> regrets;
  for (const auto& [problem, fastest] : best) {
    TunedProblem row;
    row.problem = problem;
    row.best_variant = fastest->variant;
    row.best_tile = fastest->tile;
    row.best_ms = median_of(*fastest);
    if (const auto own = winner.timed.find(problem); own != winner.timed.end()) {
      const RatioEstimate estimate =
          median_estimate(own->second->timing->cold.samples_ms, policy.contest.bootstrap);
      row.median_ms = median_of(*own->second);
      row.low_ms = estimate.low;
      row.high_ms = estimate.high;
      row.regret = row.median_ms / row.best_ms - 1;
      regrets.push_back(*row.regret);
    }
    entry.problems.push_back(std::move(row));
  }
  entry.median_regret = median(regrets);
  entry.worst_regret = *std::max_element(regrets.begin(), regrets.end());
}

void add_others(TunedEntry& entry, const std::vector<Rival>& list, const Rival& winner,
                const TablePolicy& policy) {
  std::set<std::string> seen{winner.variant};
  for (const Rival& rival : list)
    if (seen.insert(rival.variant).second) entry.others.push_back(choice_of(rival, winner, policy));
}

}  // namespace

RatioEstimate median_estimate(const std::vector<double>& samples_ms,
                              const BootstrapPolicy& policy) {
  return unpaired_ratio(std::vector<double>(samples_ms.size(), 1.0), samples_ms, 0, policy);
}

std::optional<TunedEntry> rank_bucket(const Bucket& bucket, std::span<const Record* const> rows,
                                      const TablePolicy& policy) {
  TunedEntry entry;
  entry.bucket = bucket;
  std::vector<Rival> list = rivals_of(rows, entry);
  if (list.empty()) return std::nullopt;
  const Best best = best_of(list);
  sort_by_time(list, best);
  std::vector<const Rival*> tied{&list.front()};
  for (const Rival& rival : list) {
    if (&rival == tied.front()) continue;
    if (rival.searched != list.front().searched ||
        rival.mean_log > list.front().mean_log + std::log(policy.furthest_tie))
      break;
    if (is_tied_with(list.front(), rival, policy)) tied.push_back(&rival);
  }
  entry.won_by = list.size() == 1 ? "only" : decide(tied);
  const Rival& winner = *tied.front();
  entry.winner = choice_of(winner, winner, policy);
  for (const Rival* rival : tied)
    if (rival != &winner && entry.ties.size() < policy.most_ties)
      entry.ties.push_back(choice_of(*rival, winner, policy));
  for (const Rival& rival : list)
    if (&rival != &winner) {  // the first of them: sorted by time
      entry.runner_up = choice_of(rival, winner, policy);
      break;
    }
  add_others(entry, list, winner, policy);
  add_problems(entry, winner, best, policy);
  return entry;
}

}  // namespace gla_bench
