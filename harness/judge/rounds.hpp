#pragma once
// Lets two programs alternate (A B, B A, ...) until the ratio of their times is known well enough.

#include <functional>

#include "harness/records/record.hpp"
#include "harness/support/statistics/bootstrap.hpp"

namespace gla_bench {

struct RoundPolicy {
  std::size_t least = 20;  ///< rounds that are always taken
  std::size_t most = 100;
  double max_seconds = 2;    ///< beyond the least rounds
  double precision = 0.005;  ///< half-width of the interval that is good enough
  double turn_seconds =
      2e-3;  ///< duration of the calls that a turn measures, where the other limits allow
  double most_turn_seconds = 0.02;  ///< wall time of a turn; it includes emptying the cache
  int most_samples = 10;            ///< of one turn
  std::uint64_t seed = 1;           ///< for drawing who goes first
};

/// Takes this many samples with cold caches and returns their seconds.
using TakeSamples = std::function<std::vector<double>(int samples)>;

/// Takes rounds in which a random draw decides who goes first. Each turn starts with an extra
/// sample that is discarded, since it carries the cost of changing from one process to the other.
/// Fills samples, times, first and stopped_because. @throws what the two samplers throw
void take_rounds(const TakeSamples& base, const TakeSamples& fresh, const RoundPolicy& policy,
                 Against& against);

/// The number of samples in one turn, at least one. It follows from the duration of a call and from
/// the wall time of a whole sample.
int samples_of_turn(double call_seconds, double wall_seconds, const RoundPolicy& policy);

/// Why the rounds so far are enough ("precision", "time", "rounds"), or nothing.
std::string enough_rounds(const Against& against, double elapsed_seconds,
                          const RoundPolicy& policy);

}  // namespace gla_bench
