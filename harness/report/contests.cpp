#include "harness/report/contests.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "harness/tuned_table/rank.hpp"

namespace gla_bench {
namespace {

bool is_right_peer(const Record& record) {
  return record.verification && record.verification->ok && record.timing &&
         !record.timing->suspect && record.timing->cold.median_ms > 0 && !is_failure(record.status);
}

bool had_its_chance(const Record& record) {
  return record.status == Status::measured || record.status == Status::verified ||
         is_failure(record.status);
}

void take(Contest& contest, const Entrant& fresh) {
  if (fresh.record->peer) {
    if (is_right_peer(*fresh.record) && !(contest.peer && contest.peer->ms() <= fresh.ms()))
      contest.peer = fresh;
    return;
  }
  if (!may_win(*fresh.record)) return;
  const auto known = std::find_if(
      contest.entrants.begin(), contest.entrants.end(),
      [&](const Entrant& one) { return one.record->variant == fresh.record->variant; });
  if (known == contest.entrants.end())
    contest.entrants.push_back(fresh);
  else if (fresh.ms() < known->ms())
    *known = fresh;
}

void judge(const Entrant& winner, Entrant& other, const CrossoverPolicy& policy) {
  const double drift = winner.file == other.file ? policy.drift : policy.drift_between_files;
  other.over_winner =
      unpaired_ratio(winner.record->timing->cold.samples_ms, other.record->timing->cold.samples_ms,
                     drift, policy.bootstrap);
  // What has no interval is a tie.
  other.tied = !(other.over_winner.low > 1 || other.over_winner.high < 1);
}

void judge(Contest& contest, const CrossoverPolicy& policy) {
  std::stable_sort(contest.entrants.begin(), contest.entrants.end(),
                   [](const Entrant& a, const Entrant& b) { return a.ms() < b.ms(); });
  if (contest.entrants.empty()) return;
  const Entrant& winner = contest.entrants.front();
  contest.copy_gb_per_s = fact_number(winner.file->environment, "copy_gb_per_s");
  for (std::size_t i = 1; i < contest.entrants.size(); ++i)
    judge(winner, contest.entrants[i], policy);
  if (contest.peer) judge(winner, *contest.peer, policy);
}

}  // namespace

double Contest::floor_ms() const {
  if (winner() == nullptr || !(copy_gb_per_s > 0)) return std::numeric_limits<double>::quiet_NaN();
  return winner()->record->io.floor_bytes / (copy_gb_per_s * 1e6);
}

double Contest::of_floor() const {
  return winner() == nullptr ? floor_ms() : floor_ms() / winner()->ms();
}

std::vector<Contest> contests_of(std::span<const Results> files, const CrossoverPolicy& policy) {
  std::map<std::pair<Problem, std::string>, Contest> contests;
  for (const Results& results : files) {
    const std::string device = fact_text(results.environment, "device");
    for (const Record& record : results.records) {
      if (!had_its_chance(record)) continue;
      Contest& contest = contests[{record.problem, device}];
      contest.problem = record.problem;
      contest.device = device;
      take(contest, {&results, &record});
    }
  }
  std::vector<Contest> list;
  for (auto& [key, contest] : contests) {
    judge(contest, policy);
    list.push_back(std::move(contest));
  }
  return list;
}

ProblemName name_of(const Problem& problem) {
  const std::string text = describe(problem);
  const std::string group = problem.op + " " + std::string(name(problem.direction)) + " " +
                            std::string(name(problem.dtype));
  if (!text.starts_with(group + " ")) return {group, text};
  return {group, text.substr(group.size() + 1)};
}

}  // namespace gla_bench
