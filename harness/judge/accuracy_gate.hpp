#pragma once
// The part of the gate that checks for errors that grew.

#include <span>
#include <vector>

#include "harness/judge/accuracy.hpp"
#include "harness/judge/gate.hpp"

namespace gla_bench {

/// One verdict for each verified record that is less accurate than its baseline, and one for each
/// file that says how many errors have no baseline.
std::vector<Verdict> accuracy_verdicts(std::span<const Results> files,
                                       const AccuracyBaseline& baseline);

/// The baseline to store, made from the records of all files. Errors with too few seeds are left
/// out, and `left_out` receives their number. @throws InputError where nothing is left
AccuracyBaseline baseline_to_store(std::span<const Results> files, std::size_t& left_out);

}  // namespace gla_bench
