#pragma once
// Times one prepared candidate, through Plan::sample, the only timer.

#include <functional>
#include <optional>
#include <span>

#include "harness/backends/backend.hpp"
#include "harness/config/config.hpp"
#include "harness/records/record.hpp"
#include "harness/support/processor_clock.hpp"

namespace gla_bench {

/// What a time is compared with.
struct SpeedLimit {
  double least_bytes = 0;       ///< what any candidate has to move
  double copy_gb_per_s = 0;     ///< the measured copy rate; 0: not measured, nothing is suspect
  double last_level_cache = 0;  ///< bytes; 0: unknown, nothing is suspect
};

/// A copy reads as much as it writes; traffic that mostly reads may be somewhat faster. Only a time
/// that beats the copy rate by more than this factor is suspect.
constexpr double suspect_margin = 1.2;

/// True where `seconds` is shorter than the time of the least bytes at the copy rate by more than
/// the margin. It is never true unless the least bytes are at least twice the last-level cache.
/// Data that fit in the cache may be written there, or be there already when the caches are hot.
bool is_suspect(double seconds, const SpeedLimit& limit);

/// What the host's part of a call may take: launching and waking up. A wall clock contradicts the
/// timer when it shows more than this many times the timed seconds plus this slack.
constexpr double wall_factor = 3;
constexpr double wall_slack = 200e-6, wall_slack_per_launch = 20e-6;  ///< seconds

/// True where a whole call (enqueued, run, waited for) took so much longer by the wall clock than
/// by the timer that the timer cannot have waited for the work. True for NaN.
bool contradicts_wall_clock(double seconds, double wall_seconds, std::size_t launches);

/// The wall-clock time of the shortest of five calls, or of 25 where five contradict `seconds`.
/// @throws RunError
double shortest_wall_seconds(Plan& plan, double seconds);

/// What is done before and after each sample with cold caches, while no clock runs.
struct SampleHooks {
  /// Returns whether no call before this one had the same inputs.
  std::function<bool()> before = {};
  std::function<void()> after = {};
  ClockReader clocks = read_clocks;  ///< the steady clock beside the processor's counter
};

/// A call takes the same time whether or not an earlier one had its inputs. Where the shortest call
/// with unseen inputs takes more than this many times the median of the others, plus this many
/// seconds, the others are answered from memory.
constexpr double unseen_factor = 1.5, unseen_slack = 20e-6;

/// True where the two series contradict each other so. Never true if one of them is empty.
bool contradicts_unseen_inputs(std::span<const double> known, std::span<const double> unseen);

/// The number of back-to-back calls in a hot sample, from the cold time of one call. A sample is
/// then long enough for any timer.
int hot_calls(double cold_seconds);

/// Runs the warm-up, whole calls by the wall clock, cold samples of one call each, and then
/// (policy.hot) hot samples of back-to-back calls. The device's clock is read at both ends of the
/// samples. The wall-clock time is the shortest of five calls, or of 25 where five contradict the
/// timer. A busy host delays only some calls, but a timer that does not wait is wrong for all of
/// them. The host's clock itself is held against the processor's counter. Where the two differ, all
/// is measured once more, and is suspect if they differ again. The last call is a sample, with the
/// inputs that were there before. @throws RunError
Timing measure(Plan& plan, Backend& backend, const TimingPolicy& policy, const SpeedLimit& limit,
               const SampleHooks& hooks = {});

/// How many worksets of so many bytes together exceed the last-level cache four times, so that a
/// call finds nothing of its own there and what it leaves there is written back by the next ones.
/// Nothing where the cache's size is unknown, or where more than `most_copies` would be needed.
std::optional<std::size_t> copies_beyond_cache(double bytes, double last_level_cache);
constexpr std::size_t most_copies = 256;

/// Times calls back to back over these worksets. `seconds`: what a call takes. A sample is at least
/// one round and some milliseconds. Nothing where two rounds take longer than policy.max_seconds.
/// @throws RunError
std::optional<Series> measure_sustained(Plan& plan, std::span<Workset* const> worksets,
                                        double seconds, const TimingPolicy& policy);

/// Times the stages of one call with cold caches, each with the bytes that the variant says it
/// moves. Returns nothing for a candidate without stages. @throws RunError, also for a stage whose
/// bytes the variant does not give
std::vector<Stage> measure_stages(Plan& plan, const Candidate& candidate);

}  // namespace gla_bench
