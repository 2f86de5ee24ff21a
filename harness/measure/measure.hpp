#pragma once
// Times one prepared candidate, through Plan::sample, the only timer.

#include "harness/backends/backend.hpp"
#include "harness/config/config.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// What a time is held against.
struct SpeedLimit {
  double floor_bytes = 0;       ///< each input read once, each output written once
  double copy_gb_per_s = 0;     ///< the measured copy rate; 0: not measured, nothing is suspect
  double last_level_cache = 0;  ///< bytes; 0: unknown, nothing is suspect
};

/// A copy reads as much as it writes; traffic that mostly reads may go somewhat faster. Only what
/// beats the copy rate by more than this factor is suspect.
constexpr double suspect_margin = 1.2;

/// True where `seconds` is less than the floor's bytes take at the copy rate, by more than the
/// margin. A claim only where the floor's bytes are twice the last-level cache and more: what fits
/// in the cache may be written there, or be there already when the caches are hot.
bool is_suspect(double seconds, const SpeedLimit& limit);

/// What the host's part of a call may take: launches, waking up. A wall clock that says more than
/// this many times the timed seconds, and this much besides, contradicts the timer.
constexpr double wall_factor = 3;
constexpr double wall_slack = 200e-6, wall_slack_per_launch = 20e-6;  ///< seconds

/// True where a whole call (enqueued, run, waited for) took so much longer by the wall clock than
/// by the timer that the timer can not have waited for the work. True for NaN.
bool contradicts_wall_clock(double seconds, double wall_seconds, std::size_t launches);

/// The shortest of five calls by the wall clock, or of 25 where it contradicts `seconds`.
/// @throws RunError
double shortest_wall_seconds(Plan& plan, double seconds);

/// Back-to-back calls that fill a hot sample, from the cold time of one call: enough for any timer.
int hot_calls(double cold_seconds);

/// Warm-up, whole calls by the wall clock, cold samples of one call, then (policy.hot) hot samples
/// of back-to-back calls; the clock is read at both ends of the samples. The wall clock's is the
/// shortest of five calls, or of 25 where it contradicts the timer: a busy host delays some, a
/// timer that does not wait all of them. The last call is a sample. @throws RunError
Timing measure(Plan& plan, Backend& backend, const TimingPolicy& policy, const SpeedLimit& limit);

/// The stages of one call with cold caches, each with what the variant says that it moves; nothing
/// for a candidate without stages. @throws RunError, also for a stage whose bytes the variant does
/// not give
std::vector<Stage> measure_stages(Plan& plan, const Candidate& candidate);

}  // namespace gla_bench
