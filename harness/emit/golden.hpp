#pragma once
// Small problems with the inputs and float64 outputs that the test of an emitted launcher needs.

#include <string>
#include <utility>
#include <vector>

#include "harness/emit/run_time.hpp"

namespace gla_bench {

/// One problem: a line for each of its facts (golden/cases.txt), and files by name.
struct GoldenCase {
  std::string name;
  std::string lines;
  std::vector<std::pair<std::string, std::string>> files;
};

/// Sizes that are small, odd, and within the call's ranges, of which some are the candidate's own
/// where a range allows no other.
std::vector<Extents> golden_extents(const RunTimeCall& call);

/// One case for each of golden_extents(): inputs are drawn as the candidate's problem has them.
/// @throws InputError where they would take more than `most_bytes`
std::vector<GoldenCase> golden_cases(const Operator& op, const Candidate& candidate,
                                     const RunTimeCall& call, double most_bytes);

}  // namespace gla_bench
