#include "harness/tuned_table/rank.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/support/statistics.hpp"

namespace gla_bench {
namespace {

constexpr double error_step = 1.1;  // errors within such a factor are alike

/// One variant and tile, on all problems of the bucket.
struct Contender {
  std::string variant;
  Tile tile;
  std::map<Problem, const Record*> timed;
  bool failed = false;
  bool searched = true;  ///< no search left it before its end: its median is as sure as any
  double error = 0, workspace = 0;
  double mean_log = 0;  ///< of its time over the problem's best, over its problems
  std::string source_hash;

  void add(const Record& record) {
    if (is_failure(record.status)) failed = true;
    if (!may_win(record)) return;
    timed[record.problem] = &record;
    if (record.search && record.search->left != "end") searched = false;
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

/// What a search left early has few samples, and a median that may be low by chance: it is the best
/// of a problem only where nothing was measured to the end.
Best best_of(const std::vector<Contender>& contenders) {
  Best best, early;
  for (const Contender& contender : contenders)
    for (const auto& [problem, record] : contender.timed) {
      const Record*& known = (contender.searched ? best : early)[problem];
      if (known == nullptr || median_of(*record) < median_of(*known)) known = record;
    }
  best.merge(early);
  return best;
}

/// Those that may win: right everywhere, and timed on as many problems as any of them.
std::vector<Contender> contenders_of(std::span<const Record* const> rows, TunedEntry& entry) {
  std::map<std::pair<std::string, Tile>, Contender> all;
  for (const Record* row : rows) {
    if (row->peer) continue;
    Contender& contender = all[{row->variant, row->tile}];
    contender.variant = row->variant;
    contender.tile = row->tile;
    contender.add(*row);
  }
  std::vector<Contender> list;
  for (auto& [key, contender] : all) {
    entry.failed += contender.failed ? 1 : 0;
    if (contender.failed || contender.timed.empty()) continue;
    for (const auto& [problem, record] : contender.timed)
      entry.throttled += record->timing->throttled ? 1 : 0;
    list.push_back(std::move(contender));
  }
  entry.candidates = list.size();
  return list;
}

void keep_widest(std::vector<Contender>& list) {
  std::size_t most = 0;
  for (const Contender& contender : list) most = std::max(most, contender.timed.size());
  std::erase_if(list, [&](const Contender& contender) { return contender.timed.size() < most; });
}

/// What was measured to the end first, then the fastest first; names and tiles decide between
/// equals, so that the order is always the same.
void sort_by_time(std::vector<Contender>& list, const Best& best) {
  for (Contender& contender : list) {
    double sum = 0;
    for (const auto& [problem, record] : contender.timed)
      sum += std::log(median_of(*record) / median_of(*best.at(problem)));
    contender.mean_log = sum / static_cast<double>(contender.timed.size());
  }
  std::sort(list.begin(), list.end(), [](const Contender& a, const Contender& b) {
    return std::tuple(!a.searched, a.mean_log, a.variant, a.tile) <
           std::tuple(!b.searched, b.mean_log, b.variant, b.tile);
  });
}

/// Time of `other` over `base`: the geometric mean over the problems that both have. The problems'
/// intervals are independent, so that their squares add; the drift is not, and widens the whole.
RatioEstimate ratio_of(const Contender& base, const Contender& other, const TablePolicy& policy) {
  double center = 0, below = 0, above = 0, count = 0;
  std::size_t least = 0;
  for (const auto& [problem, record] : other.timed) {
    const auto found = base.timed.find(problem);
    if (found == base.timed.end()) continue;
    const RatioEstimate one = unpaired_ratio(found->second->timing->cold.samples_ms,
                                             record->timing->cold.samples_ms, 0, policy.bootstrap);
    const double middle = std::log(one.ratio);
    center += middle;
    below += std::pow(middle - std::log(one.low), 2);
    above += std::pow(std::log(one.high) - middle, 2);
    least = count > 0 ? std::min(least, one.count) : one.count;
    ++count;
  }
  if (!(count > 0)) return unpaired_ratio({}, {}, 0);  // NaN: nothing to compare
  center /= count;
  const double wider = 1 + policy.drift;
  return {std::exp(center), std::exp(center - std::sqrt(below) / count) / wider,
          std::exp(center + std::sqrt(above) / count) * wider, 1, least};
}

TunedChoice choice_of(const Contender& contender, const Contender& winner,
                      const TablePolicy& policy) {
  TunedChoice choice{contender.variant,
                     contender.tile,
                     contender.source_hash,
                     contender.error,
                     contender.workspace,
                     1,
                     1,
                     1};
  if (&contender == &winner) return choice;
  const RatioEstimate estimate = ratio_of(winner, contender, policy);
  choice.ratio = estimate.ratio;
  choice.low = estimate.low;
  choice.high = estimate.high;
  return choice;
}

int error_grade(const Contender& contender) {
  if (!(contender.error > 0)) return -100000;
  return static_cast<int>(std::lround(std::log(contender.error) / std::log(error_step)));
}

/// Smaller error first, then smaller workspace, then time (where they stand).
std::string decide(std::vector<const Contender*>& tied) {
  std::stable_sort(tied.begin(), tied.end(), [](const Contender* a, const Contender* b) {
    return std::pair(error_grade(*a), a->workspace) < std::pair(error_grade(*b), b->workspace);
  });
  if (tied.size() < 2) return "time";
  const Contender &first = *tied[0], &second = *tied[1];
  if (error_grade(first) != error_grade(second)) return "error";
  return first.workspace < second.workspace ? "workspace" : "time";
}

void add_problems(TunedEntry& entry, const Contender& winner, const Best& best,
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
          median_estimate(own->second->timing->cold.samples_ms, policy.bootstrap);
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

void add_others(TunedEntry& entry, const std::vector<Contender>& list, const Contender& winner,
                const TablePolicy& policy) {
  std::set<std::string> seen{winner.variant};
  for (const Contender& contender : list)
    if (seen.insert(contender.variant).second)
      entry.others.push_back(choice_of(contender, winner, policy));
}

}  // namespace

bool may_win(const Record& record) {
  if (record.peer || record.status != Status::measured || !record.timing || !record.verification)
    return false;
  if (!record.verification->ok || record.verification->last_timed_ok == false) return false;
  const Series& cold = record.timing->cold;
  return !record.timing->suspect && !cold.samples_ms.empty() && cold.median_ms > 0 &&
         std::isfinite(cold.median_ms);
}

RatioEstimate median_estimate(const std::vector<double>& samples_ms,
                              const BootstrapPolicy& policy) {
  return unpaired_ratio(std::vector<double>(samples_ms.size(), 1.0), samples_ms, 0, policy);
}

std::optional<TunedEntry> rank_bucket(const Bucket& bucket, std::span<const Record* const> rows,
                                      const TablePolicy& policy) {
  TunedEntry entry;
  entry.bucket = bucket;
  std::vector<Contender> list = contenders_of(rows, entry);
  if (list.empty()) return std::nullopt;
  const Best best = best_of(list);
  keep_widest(list);
  sort_by_time(list, best);
  std::vector<const Contender*> tied{&list.front()};
  for (const Contender& contender : list) {
    if (&contender == tied.front()) continue;
    if (contender.searched != list.front().searched ||
        contender.mean_log > list.front().mean_log + std::log(policy.furthest_tie))
      break;
    if (ratio_of(list.front(), contender, policy).low <= 1) tied.push_back(&contender);
  }
  entry.won_by = list.size() == 1 ? "only" : decide(tied);
  const Contender& winner = *tied.front();
  entry.winner = choice_of(winner, winner, policy);
  for (const Contender* contender : tied)
    if (contender != &winner && entry.ties.size() < policy.most_ties)
      entry.ties.push_back(choice_of(*contender, winner, policy));
  for (const Contender& contender : list)
    if (&contender != &winner) {  // the first of them: sorted by time
      entry.runner_up = choice_of(contender, winner, policy);
      break;
    }
  add_others(entry, list, winner, policy);
  add_problems(entry, winner, best, policy);
  return entry;
}

}  // namespace gla_bench
