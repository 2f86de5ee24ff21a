#pragma once
// The names of the checks: what a fault was caught by. They stand in records (verification.check,
// timing.suspect_check) and in the self-test's table, and are a contract like the statuses.

#include <string_view>

namespace gla_bench::check {

// Of the first verified run, in the order in which they are looked at.
inline constexpr std::string_view missing_output = "missing_output";
inline constexpr std::string_view unwritten = "unwritten";    ///< poison is left
inline constexpr std::string_view not_finite = "not_finite";  ///< unlike the reference
inline constexpr std::string_view rel_l2 = "rel_l2";
inline constexpr std::string_view worst_chunk = "worst_chunk";
inline constexpr std::string_view max_abs = "max_abs";
inline constexpr std::string_view guard_zone = "guard_zone";
inline constexpr std::string_view input_changed = "input_changed";

// Of further runs.
inline constexpr std::string_view repeat = "repeat";  ///< wrong, or other bits than promised
inline constexpr std::string_view other_inputs = "other_inputs";  ///< the same for other inputs
inline constexpr std::string_view last_timed = "last_timed";

// Of times.
inline constexpr std::string_view floor = "floor";  ///< faster than the floor allows
inline constexpr std::string_view wall_clock = "wall_clock";

// Of what did not run to its end.
inline constexpr std::string_view crash = "crash";
inline constexpr std::string_view memory = "memory";
inline constexpr std::string_view timeout = "timeout";
inline constexpr std::string_view build = "build";
inline constexpr std::string_view run = "run";  ///< an error that a run reported by itself

}  // namespace gla_bench::check
