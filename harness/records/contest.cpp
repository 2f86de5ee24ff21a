#include "harness/records/contest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace gla_bench {
namespace {

constexpr std::array<std::pair<Standing, std::string_view>, 9> standing_names{
    {{Standing::winner, "winner"},
     {Standing::tied, "tied"},
     {Standing::slower, "slower"},
     {Standing::slower_tile, "slower_tile"},
     {Standing::peer, "peer"},
     {Standing::suspect, "suspect"},
     {Standing::failed, "failed"},
     {Standing::not_verified, "not_verified"},
     {Standing::not_timed, "not_timed"}}};

/// The placing of a record that is not its variant's fastest.
Standing standing_of(const Record& record) {
  const auto& verification = record.verification;
  if (is_failure(record.status) ||
      (verification && (!verification->ok || verification->last_timed_ok == false)))
    return Standing::failed;
  if (record.status != Status::measured || !record.timing) return Standing::not_timed;
  if (record.timing->suspect) return Standing::suspect;
  if (!verification) return Standing::not_verified;
  return is_right_and_timed(record) ? Standing::slower_tile : Standing::not_timed;
}

void enter(std::vector<Entrant>& entrants, const Placing& placing) {
  const auto known = std::find_if(entrants.begin(), entrants.end(), [&](const Entrant& one) {
    return one.record->variant == placing.record->variant;
  });
  const Entrant fresh{placing.file, placing.record};
  if (known == entrants.end())
    entrants.push_back(fresh);
  else if (is_faster(*fresh.record, *known->record))
    *known = fresh;
}

double drift_between(const Entrant& one, const Entrant& other, const ContestPolicy& policy) {
  return one.file == other.file ? policy.drift : policy.drift_between_files;
}

std::span<const double> samples_of(const Entrant& entrant) {
  return entrant.record->timing->cold.samples_ms;
}

void judge(const Entrant& winner, Entrant& other, const ContestPolicy& policy) {
  other.over_winner = unpaired_ratio(samples_of(winner), samples_of(other),
                                     drift_between(winner, other, policy), policy.bootstrap);
  other.over_winner.ratio = other.ms() / winner.ms();
  other.tied = is_tied(other.over_winner) &&
               measured_to_end(*winner.record) == measured_to_end(*other.record);
}

void sort_by_time(std::vector<Entrant>& entrants) {
  std::stable_sort(entrants.begin(), entrants.end(), [](const Entrant& a, const Entrant& b) {
    return is_faster(*a.record, *b.record);
  });
}

void place(Contest& contest, const Entrant& entrant, Standing standing) {
  for (Placing& placing : contest.records)
    if (placing.record == entrant.record) placing.standing = standing;
}

void judge(Contest& contest, const ContestPolicy& policy) {
  for (Placing& placing : contest.records) {
    placing.standing = standing_of(*placing.record);
    if (is_right_and_timed(*placing.record))
      enter(placing.record->peer ? contest.peers : contest.entrants, placing);
  }
  sort_by_time(contest.entrants);
  sort_by_time(contest.peers);
  for (const Entrant& peer : contest.peers) place(contest, peer, Standing::peer);
  if (contest.entrants.empty()) return;
  const Entrant& winner = contest.entrants.front();
  place(contest, winner, Standing::winner);
  for (std::size_t i = 1; i < contest.entrants.size(); ++i) {
    Entrant& other = contest.entrants[i];
    judge(winner, other, policy);
    place(contest, other, other.tied ? Standing::tied : Standing::slower);
  }
  for (Entrant& peer : contest.peers) judge(winner, peer, policy);
}

/// True where every sample of one lies above every sample of the other by more than the drift.
/// Every median that the bootstrap could draw then does so too, and none has to be drawn.
bool is_apart(std::span<const double> low, std::span<const double> high, double drift) {
  const auto usable = [](double sample) { return sample > 0 && std::isfinite(sample); };
  if (!std::all_of(low.begin(), low.end(), usable) ||
      !std::all_of(high.begin(), high.end(), usable))
    return false;
  return *std::min_element(high.begin(), high.end()) >
         *std::max_element(low.begin(), low.end()) * (1 + drift);
}

bool are_tied(const Entrant& faster, const Entrant& slower, const ContestPolicy& policy) {
  if (measured_to_end(*faster.record) != measured_to_end(*slower.record)) return false;
  const double drift = drift_between(faster, slower, policy);
  if (is_apart(samples_of(faster), samples_of(slower), drift)) return false;
  return is_tied(unpaired_ratio(samples_of(faster), samples_of(slower), drift, policy.bootstrap));
}

bool had_its_chance(const Placing& placing) {
  const Status status = placing.record->status;
  return status == Status::measured || status == Status::verified || is_failure(status);
}

}  // namespace

std::string_view name(Standing standing) {
  for (const auto& [value, text] : standing_names)
    if (value == standing) return text;
  return "?";
}

bool is_right_and_timed(const Record& record) {
  if (record.status != Status::measured || !record.timing || !record.verification) return false;
  if (!record.verification->ok || record.verification->last_timed_ok == false) return false;
  const Series& cold = record.timing->cold;
  return !record.timing->suspect && !cold.samples_ms.empty() && cold.median_ms > 0 &&
         std::isfinite(cold.median_ms);
}

bool may_win(const Record& record) {
  return !record.peer && is_right_and_timed(record);
}

bool may_be_compared(const Record& record) {
  if (may_win(record)) return true;
  return record.status == Status::verified && record.search && record.timing &&
         record.verification && record.verification->ok && !record.timing->suspect &&
         record.timing->cold.median_ms > 0;
}

bool measured_to_end(const Record& record) {
  return !record.search || record.search->left == "end";
}

bool is_faster(const Record& one, const Record& other) {
  return std::tuple(!measured_to_end(one), one.timing->cold.median_ms) <
         std::tuple(!measured_to_end(other), other.timing->cold.median_ms);
}

bool is_tied(const RatioEstimate& over_winner) {
  return !(over_winner.low > 1);
}

const Entrant* Contest::runner_up() const {
  for (std::size_t i = 1; i < entrants.size(); ++i)
    if (!entrants[i].tied) return &entrants[i];
  return nullptr;
}

std::vector<std::string> Contest::winners() const {
  std::vector<std::string> names;
  for (const Entrant& entrant : entrants)
    if (names.empty() || entrant.tied) names.push_back(entrant.record->variant);
  return names;
}

double Contest::floor_ms() const {
  if (winner() == nullptr || !(copy_gb_per_s > 0)) return std::numeric_limits<double>::quiet_NaN();
  return winner()->record->io.floor_bytes / (copy_gb_per_s * 1e6);
}

double Contest::of_floor() const {
  return winner() == nullptr ? floor_ms() : floor_ms() / winner()->ms();
}

double copy_rate(const Results& file, std::span<const Results> files) {
  const double own = fact_number(file.environment, "copy_gb_per_s");
  if (own > 0) return own;
  double most = 0;
  for (const Results& other : files)
    if (fact_text(other.environment, "device") == fact_text(file.environment, "device"))
      most = std::max(most, fact_number(other.environment, "copy_gb_per_s"));
  return most;
}

std::vector<Contest> all_contests(std::span<const Results> files, const ContestPolicy& policy) {
  std::vector<Contest> contests;
  std::map<std::tuple<Problem, std::string, BackendId>, std::size_t> places;
  for (const Results& results : files) {
    const std::string device = fact_text(results.environment, "device");
    for (const Record& record : results.records) {
      const auto [entry, fresh] =
          places.try_emplace({record.problem, device, record.backend}, contests.size());
      if (fresh) contests.push_back({record.problem, device, record.backend, {}, {}, {}});
      contests[entry->second].records.push_back({&results, &record});
    }
  }
  for (Contest& contest : contests) {
    judge(contest, policy);
    if (contest.winner() != nullptr)
      contest.copy_gb_per_s = copy_rate(*contest.winner()->file, files);
  }
  return contests;
}

std::vector<Contest> contests_of(std::span<const Results> files, const ContestPolicy& policy) {
  std::vector<Contest> contests = all_contests(files, policy);
  std::erase_if(contests, [](const Contest& contest) {
    return std::none_of(contest.records.begin(), contest.records.end(), had_its_chance);
  });
  std::stable_sort(contests.begin(), contests.end(), [](const Contest& a, const Contest& b) {
    return std::tie(a.problem, a.device, a.backend) < std::tie(b.problem, b.device, b.backend);
  });
  return contests;
}

std::vector<std::vector<std::size_t>> ties_of(const Contest& contest, const ContestPolicy& policy) {
  const auto& entrants = contest.entrants;
  std::vector<std::vector<std::size_t>> ties(entrants.size());
  for (std::size_t i = 0; i < entrants.size(); ++i)
    for (std::size_t j = i + 1; j < entrants.size(); ++j) {
      // Against the winner this was decided already.
      if (!(i == 0 ? entrants[j].tied : are_tied(entrants[i], entrants[j], policy))) continue;
      ties[i].push_back(j);
      ties[j].push_back(i);
    }
  return ties;
}

}  // namespace gla_bench
