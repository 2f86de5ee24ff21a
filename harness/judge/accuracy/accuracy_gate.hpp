#pragma once
// The part of the gate that checks for errors that grew.

#include <span>
#include <vector>

#include "harness/judge/accuracy/accuracy.hpp"
#include "harness/judge/gate.hpp"

namespace gla_bench {

/// One verdict for each verified record of which the baseline has errors: it fails where one of
/// them grew. One for each candidate of which the baseline has errors and none of the files has a
/// verified record: it fails, unless `missing_allowed`, because nobody would notice otherwise that
/// something is not looked at any more. And one for each candidate that the baseline lacks, with a
/// note.
std::vector<Verdict> accuracy_verdicts(std::span<const Results> files,
                                       const AccuracyBaseline& baseline,
                                       bool missing_allowed = false);

/// The baseline to store, made from the records of all files. Errors with too few seeds are left
/// out, and `left_out` receives their number. @throws InputError where nothing is left
AccuracyBaseline baseline_to_store(std::span<const Results> files, std::size_t& left_out);

}  // namespace gla_bench
