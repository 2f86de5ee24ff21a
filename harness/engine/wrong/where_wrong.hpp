#pragma once
// Where the outputs of a wrong candidate differ, in words that lead to the error: which chunks of
// which output, which of them comes first along the tokens, and an element of it.

#include <span>
#include <string>

#include "harness/verify/verify.hpp"

namespace gla_bench {

/// The axes' numbers of an element in logical order, "[0,64,1,3]".
std::string index_text(const TensorSpec& spec, std::int64_t at);

/// "'o' is wrong in 6 of 32 chunks, first in tokens 64 to 127 of batch 0, head 1: [0,64,1,3] is
/// 0.5, expected 1.25". Empty where no chunk is beyond the bound.
///
/// What is wrong from a certain token on tells more than the largest error, which is often far from
/// where it began. So the first chunk is the one with the earliest tokens, and the element is the
/// worst of the first token in it that is beyond the bound by itself.
/// @param bound of a chunk's error (TensorVerdict::worst_chunk_bound)
/// @throws std::invalid_argument when a size does not fit the spec
std::string where_wrong(const TensorSpec& spec, double bound, std::span<const float> got,
                        std::span<const double> expected);

/// The same of all outputs, joined by "; ".
std::string where_wrong(const Verification& verification, const ProblemTruth& truth,
                        const HostTensors& outputs);

}  // namespace gla_bench
