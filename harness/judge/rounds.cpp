#include "harness/judge/rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

constexpr int pilot_samples = 3;
constexpr std::size_t rounds_between_looks = 5;  // a look takes a bootstrap
constexpr int resamples_of_a_look = 400;

void take_turn(const TakeSamples& take, int samples, std::vector<double>& times_ms) {
  const std::vector<double> seconds = take(samples + 1);
  for (std::size_t i = 1; i < seconds.size(); ++i) times_ms.push_back(seconds[i] * 1e3);
}

}  // namespace

int samples_of_turn(double call_seconds, double wall_seconds, const RoundPolicy& policy) {
  double samples = policy.most_samples;
  if (call_seconds > 0) samples = std::min(samples, std::ceil(policy.turn_seconds / call_seconds));
  if (wall_seconds > 0)
    samples = std::min(samples, std::floor(policy.most_turn_seconds / wall_seconds));
  return static_cast<int>(std::max(samples, 1.0));
}

std::string enough_rounds(const Against& against, double elapsed_seconds,
                          const RoundPolicy& policy) {
  const std::size_t rounds = against.first.size();
  if (rounds < policy.least) return "";
  if (rounds >= policy.most) return "rounds";
  if (elapsed_seconds >= policy.max_seconds) return "time";
  if (rounds % rounds_between_looks != 0) return "";
  BootstrapPolicy look;
  look.resamples = resamples_of_a_look;
  const auto samples = static_cast<std::size_t>(against.samples);
  const RatioEstimate estimate = paired_ratio(medians_of_rounds(against.base_ms, samples),
                                              medians_of_rounds(against.new_ms, samples), look);
  return (estimate.high - estimate.low) / 2 <= policy.precision ? "precision" : "";
}

void take_rounds(const TakeSamples& base, const TakeSamples& fresh, const RoundPolicy& policy,
                 Against& against) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  base(pilot_samples);
  const auto pilot = Clock::now();
  const double call_seconds = median(fresh(pilot_samples));
  against.samples = samples_of_turn(call_seconds, since(pilot) / pilot_samples, policy);
  std::mt19937_64 random(policy.seed);
  const auto start = Clock::now();
  while (against.stopped_because.empty()) {
    const bool base_first = (random() >> 63) == 0;
    if (base_first) take_turn(base, against.samples, against.base_ms);
    take_turn(fresh, against.samples, against.new_ms);
    if (!base_first) take_turn(base, against.samples, against.base_ms);
    against.first += base_first ? 'b' : 'n';
    against.stopped_because = enough_rounds(against, since(start), policy);
  }
}

}  // namespace gla_bench
