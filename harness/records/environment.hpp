#pragma once
// Where and how a run was made: the environment of a results file.

#include <optional>
#include <string>
#include <string_view>

#include "harness/backends/backend.hpp"
#include "harness/support/facts.hpp"

namespace gla_bench {

/// "backend", "host", "host_compiler", "git_commit", "git_dirty", "program_version", "started"
/// (UTC), "command_line", what the backend knows of itself (sizes and counts as numbers), the clock
/// now
/// ("clock_mhz"), and the ceilings where they were measured ("copy_gb_per_s",
/// "matrix_tflop_per_s", "matrix", "least_call_us").
Facts make_environment(Backend& backend, const std::string& command_line,
                       const std::optional<Ceilings>& ceilings);

/// The part of those facts that holds the ceilings.
void add_ceilings(Facts& environment, const Ceilings& ceilings);

/// The fact of how many candidates a run was to try, and the fact of what ended it early; the
/// second is missing where the run came to its end.
inline constexpr std::string_view candidates_asked = "candidates", ended_by = "ended_by";

/// The fact of how many seconds a run took, all parts of one that was continued together.
inline constexpr std::string_view wall_seconds = "wall_seconds";

/// The last-level cache in bytes as the backend's environment has it; 0 where it does not.
double last_level_cache(const Facts& environment);

/// Name of this version of the program.
std::string program_version();

}  // namespace gla_bench
