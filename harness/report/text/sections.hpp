#pragma once
// The parts of a report in markdown. Each has the title and the question that the page
// (page/main.js) gives it. Short tables are shown open, long ones are folded.

#include <span>
#include <string>

#include "harness/records/contest.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench {

/// What was measured and on which machine, with a line for each file.
std::string machine_section(std::span<const Results> files);

/// How many candidates are right, then every failure with the command that repeats it.
std::string verified_section(std::span<const Results> files);

/// Which variant wins where, and by how much: by operator, then for each problem.
std::string winners_section(std::span<const Contest> contests);

/// The cross-over maps of more than one place, folded; empty where there are none.
std::string maps_part(std::span<const Results> files);

/// What bounds the winners (bound_by.hpp).
std::string why_section(std::span<const Contest> contests);

/// Bytes, workspace, error and energy of each variant's fastest tile.
std::string costs_section(std::span<const Contest> contests);

/// How far the winners are from the best peer and from the floor.
std::string peers_section(std::span<const Contest> contests);

}  // namespace gla_bench
