#include "harness/engine/sharding.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <tuple>

#include "harness/backends/sources/prologue.hpp"
#include "harness/engine/duration.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {
namespace {

// Cores that compile for one GPU. The real number may differ between hosts.
constexpr double nominal_cores = 8;

/// The kernels that each problem needs, by a hash of their text.
std::vector<std::set<std::uint64_t>> compile_jobs(std::span<const Assignment> work) {
  std::vector<std::set<std::uint64_t>> jobs(work.size());
  for (std::size_t i = 0; i < work.size(); ++i)
    for (const Candidate& candidate : work[i].accepted)
      for (const Unit& unit : units_of(candidate)) jobs[i].insert(hash_bytes(unit.text));
  return jobs;
}

}  // namespace

std::vector<int> balanced_cut(std::span<const double> seconds, int shards) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  using Load = std::tuple<double, std::size_t, int>;  // seconds, problems, number
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int number = 1; number <= shards; ++number) loads.emplace(0, 0, number);
  std::vector<int> cut(seconds.size(), 1);
  for (const std::size_t place : order) {
    const auto [load, problems, number] = loads.top();
    loads.pop();
    cut[place] = number;
    loads.emplace(load + seconds[place], problems + 1, number);
  }
  return cut;
}

std::vector<double> nominal_seconds(std::span<const Assignment> work, BackendId backend,
                                    bool measure, const TimingPolicy& timing) {
  SweepPlan plan;
  plan.backend = backend;
  plan.measure = measure;
  plan.timing = timing;
  std::vector<double> seconds;
  for (const Assignment& point : work) seconds.push_back(point_seconds(point, plan).likely);
  if (backend != BackendId::cuda) return seconds;
  const auto jobs = compile_jobs(work);
  std::map<std::uint64_t, double> problems;
  for (const auto& of_problem : jobs)
    for (const std::uint64_t job : of_problem) problems[job] += 1;
  for (std::size_t i = 0; i < work.size(); ++i)
    for (const std::uint64_t job : jobs[i])
      seconds[i] += compile_seconds / nominal_cores / problems[job];
  return seconds;
}

std::vector<double> nominal_seconds_of(const Config& config, const Catalog& catalog,
                                       const Place& place, bool measure) {
  const auto work = assignments(config, catalog, without_memory_limits(place));
  return nominal_seconds(work, place.backend, measure, config.policy.timing);
}

std::vector<int> shards_of(const Config& config, const Catalog& catalog, const Place& place,
                           bool measure, int shards) {
  return balanced_cut(nominal_seconds_of(config, catalog, place, measure), shards);
}

std::vector<std::size_t> places_of(std::span<const int> shards, int number) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (shards[i] == number) places.push_back(i);
  return places;
}

void keep_places(std::vector<Assignment>& work, std::span<const std::size_t> places) {
  std::vector<Assignment> kept;
  for (const std::size_t place : places) kept.push_back(std::move(work.at(place)));
  work = std::move(kept);
}

std::vector<AskedPoint> asked_points(std::span<const Assignment> work,
                                     std::span<const std::size_t> places) {
  std::vector<AskedPoint> points;
  for (std::size_t i = 0; i < work.size(); ++i) {
    AskedPoint point{static_cast<std::int64_t>(places[i]) + 1, work[i].problem, {}};
    for (const Candidate& candidate : work[i].accepted)
      point.candidates[candidate.variant->name].push_back(candidate.tile);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace gla_bench
