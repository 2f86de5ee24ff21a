#pragma once
// Two programs taking turns: A B, B A, .. until the ratio of their times is known well enough.

#include <functional>

#include "harness/records/record.hpp"
#include "harness/support/statistics/bootstrap.hpp"

namespace gla_bench {

struct RoundPolicy {
  std::size_t least = 20;  ///< rounds that are taken in any case
  std::size_t most = 100;
  double max_seconds = 2;           ///< beyond the least rounds
  double precision = 0.005;         ///< half of the interval's width that is good enough
  double turn_seconds = 2e-3;       ///< of calls that a turn is to measure, where the others allow
  double most_turn_seconds = 0.02;  ///< of wall time for a turn: emptying a cache takes its time
  int most_samples = 10;            ///< of one turn
  std::uint64_t seed = 1;           ///< of who goes first
};

/// Takes so many samples with cold caches and gives their seconds.
using TakeSamples = std::function<std::vector<double>(int samples)>;

/// Rounds in which either goes first by lot. Each turn starts with a sample more, which is not
/// kept: it pays for the change from one process to the other. Fills samples, times, first and
/// stopped_because. @throws what the two throw
void take_rounds(const TakeSamples& base, const TakeSamples& fresh, const RoundPolicy& policy,
                 Against& against);

/// Samples of one turn for calls that take so long, and with all that belongs to a sample so long
/// by the wall clock. At least one.
int samples_of_turn(double call_seconds, double wall_seconds, const RoundPolicy& policy);

/// Why the rounds so far are enough ("precision", "time", "rounds"), or nothing.
std::string enough_rounds(const Against& against, double elapsed_seconds,
                          const RoundPolicy& policy);

}  // namespace gla_bench
