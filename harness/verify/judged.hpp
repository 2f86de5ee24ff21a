#pragma once
// Judging outputs that still lie on the backend.

#include "harness/verify/verify.hpp"

namespace gla_bench {

/// Judges the outputs on the backend, whose fingerprint is given. They are downloaded and compared
/// as a whole unless outputs with the same bits already were found right, for whichever candidate.
Verification judge_outputs(Workset& workset, ProblemTruth& truth, std::uint64_t fingerprint,
                           Arithmetic arithmetic, const Tolerance& tolerance);

}  // namespace gla_bench
