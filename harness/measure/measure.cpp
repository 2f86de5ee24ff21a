#include "harness/measure/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "harness/measure/checks.hpp"
#include "harness/measure/clock_reasons.hpp"
#include "harness/measure/series.hpp"
#include "harness/measure/stop.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

constexpr double hot_sample_seconds = 1e-3;  // long enough for any timer's resolution
constexpr int most_hot_calls = 100;
constexpr double sustained_sample_seconds = 4e-3;
constexpr double most_rounds = 1000;

// The seconds of samples with cold caches, by whether an earlier call had their inputs.
struct ColdSeconds {
  std::vector<double> known, unseen;
};

double cold_sample(Plan& plan, const SampleHooks& hooks, ColdSeconds& all) {
  const bool unseen = hooks.before && hooks.before();
  const double seconds = plan.sample(CacheState::cold, 1);
  if (hooks.after) hooks.after();
  (unseen ? all.unseen : all.known).push_back(seconds);
  return seconds;
}

Series sample_series(const std::function<double()>& sample, const TimingPolicy& policy) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> seconds;
  while (true) {
    seconds.push_back(sample());
    if (auto reason = stop_reason(policy, seconds, seconds_since(start)))
      return summarize(seconds, std::move(*reason));
  }
}

// Makes at most `calls` whole calls, and stops once they have taken a tenth of a second.
double shortest_call(Plan& plan, int calls) {
  using Clock = std::chrono::steady_clock;
  double shortest = std::numeric_limits<double>::infinity(), sum = 0;
  for (int i = 0; i < calls && sum < 0.1; ++i) {
    const auto start = Clock::now();
    plan.run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    shortest = std::min(shortest, seconds);
    sum += seconds;
  }
  return shortest;
}

void suspect(Timing& timing, std::string_view check) {
  timing.suspect = true;
  if (timing.suspect_check.empty()) timing.suspect_check = check;
}

// Where unseen inputs take longer, more samples are taken, since a busy machine delays some of
// them.
void hold_against_unseen_inputs(Plan& plan, const SampleHooks& hooks, ColdSeconds seconds,
                                Timing& timing) {
  constexpr int most_samples = 40;
  constexpr std::size_t more_unseen = 5;
  if (!contradicts_unseen_inputs(seconds.known, seconds.unseen)) return;
  const std::size_t enough = seconds.unseen.size() + more_unseen;
  for (int i = 0; i < most_samples && seconds.unseen.size() < enough; ++i)
    cold_sample(plan, hooks, seconds);
  if (contradicts_unseen_inputs(seconds.known, seconds.unseen))
    suspect(timing, check::unseen_inputs);
}

void hold_against_wall_clock(Plan& plan, Timing& timing) {
  double timed_ms = timing.cold.median_ms;
  if (timing.hot) timed_ms = std::min(timed_ms, timing.hot->median_ms);
  const auto contradicts = [&] {
    return contradicts_wall_clock(timed_ms * 1e-3, *timing.wall_ms * 1e-3, plan.launches());
  };
  if (!contradicts()) return;
  timing.wall_ms = std::min(*timing.wall_ms, shortest_call(plan, 20) * 1e3);
  plan.sample(CacheState::cold, 1);  // what is verified after timing is a timed launch
  if (contradicts()) suspect(timing, check::wall_clock);
}

}  // namespace

double shortest_wall_seconds(Plan& plan, double seconds) {
  const double shortest = shortest_call(plan, 5);
  if (!contradicts_wall_clock(seconds, shortest, plan.launches())) return shortest;
  return std::min(shortest, shortest_call(plan, 20));
}

bool contradicts_wall_clock(double seconds, double wall_seconds, std::size_t launches) {
  const double slack = wall_slack + wall_slack_per_launch * static_cast<double>(launches);
  return !(wall_seconds <= wall_factor * seconds + slack);
}

bool contradicts_unseen_inputs(std::span<const double> known, std::span<const double> unseen) {
  if (known.empty() || unseen.empty()) return false;
  const double shortest = *std::min_element(unseen.begin(), unseen.end());
  return shortest > unseen_factor * quantile(known, 0.5) + unseen_slack;
}

int hot_calls(double cold_seconds) {
  if (!(cold_seconds > 0)) return most_hot_calls;
  const double calls = std::ceil(hot_sample_seconds / cold_seconds);
  return static_cast<int>(std::clamp(calls, 1.0, static_cast<double>(most_hot_calls)));
}

bool is_suspect(double seconds, const SpeedLimit& limit) {
  if (!(limit.copy_gb_per_s > 0) || !(limit.last_level_cache > 0)) return false;
  if (limit.least_bytes < 2 * limit.last_level_cache) return false;
  const double least_seconds = limit.least_bytes / (limit.copy_gb_per_s * 1e9);
  return !(seconds * suspect_margin >= least_seconds);
}

namespace {

Timing measure_once(Plan& plan, Backend& backend, const TimingPolicy& policy,
                    const SpeedLimit& limit, const SampleHooks& hooks) {
  Timing timing;
  for (int call = 0; call < policy.warmup; ++call) plan.run();
  timing.wall_ms = shortest_call(plan, 5) * 1e3;
  ClockWatch clocks(backend);
  timing.clock_mhz_before = backend.clock_mhz();
  clocks.look();
  ColdSeconds seconds;
  const auto watched = [&clocks](double sample) {
    clocks.look_now_and_then();
    return sample;
  };
  timing.cold = sample_series([&] { return watched(cold_sample(plan, hooks, seconds)); }, policy);
  hold_against_unseen_inputs(plan, hooks, std::move(seconds), timing);
  const int calls = hot_calls(timing.cold.median_ms * 1e-3);
  if (policy.hot)
    timing.hot =
        sample_series([&] { return watched(plan.sample(CacheState::hot, calls)); }, policy);
  else if (hooks.after)
    plan.sample(CacheState::cold, 1);  // the one before may have had other inputs
  timing.clock_mhz_after = backend.clock_mhz();
  clocks.look();
  clocks.tell(timing);
  hold_against_wall_clock(plan, timing);
  if (is_suspect(timing.cold.median_ms * 1e-3, limit) ||
      (timing.hot && is_suspect(timing.hot->median_ms * 1e-3, limit)))
    suspect(timing, check::floor);
  return timing;
}

}  // namespace

Timing measure(Plan& plan, Backend& backend, const TimingPolicy& policy, const SpeedLimit& limit,
               const SampleHooks& hooks) {
  const auto timed = [&](bool& differ) {
    const TwoClocks clocks(hooks.clocks);
    Timing timing = measure_once(plan, backend, policy, limit, hooks);
    differ = clocks.differ();
    return timing;
  };
  bool differ = false;
  Timing timing = timed(differ);
  // A machine that was paused, or whose clock was set, did that once. A clock that lies goes on.
  if (differ) timing = timed(differ);
  if (differ) suspect(timing, check::clocks);
  return timing;
}

std::optional<std::size_t> copies_beyond_cache(double bytes, double last_level_cache) {
  constexpr double factor = 4;
  if (!(bytes > 0) || !(last_level_cache > 0)) return std::nullopt;
  const double copies = std::ceil(factor * last_level_cache / bytes);
  if (!(copies <= static_cast<double>(most_copies))) return std::nullopt;
  return static_cast<std::size_t>(copies);
}

std::optional<Series> measure_sustained(Plan& plan, std::span<Workset* const> worksets,
                                        double seconds, const TimingPolicy& policy) {
  const double round = static_cast<double>(worksets.size()) * seconds;
  if (!(round > 0) || !(2 * round <= policy.max_seconds)) return std::nullopt;
  const auto rounds =
      static_cast<int>(std::clamp(std::ceil(sustained_sample_seconds / round), 1.0, most_rounds));
  return sample_series([&] { return plan.sustained(worksets, rounds); }, policy);
}

std::vector<Stage> measure_stages(Plan& plan, const Candidate& candidate) {
  const Variant& variant = *candidate.variant;
  if (!variant.stages) return {};
  const auto modelled = variant.stages(candidate.problem, candidate.tile);
  std::vector<Stage> stages;
  for (const StageTime& time : plan.stage_times(CacheState::cold)) {
    const auto model = std::find_if(modelled.begin(), modelled.end(),
                                    [&](const StageTraffic& s) { return s.name == time.name; });
    if (model == modelled.end())
      throw RunError(describe(candidate) + ": no bytes are given for stage '" + time.name + "'");
    stages.push_back(
        {time.name, time.seconds * 1e3, model->traffic.read_bytes, model->traffic.write_bytes});
  }
  return stages;
}

}  // namespace gla_bench
