#pragma once
// Holds what the device counted during a call against what the operator cannot do without.

#include <optional>
#include <string>
#include <string_view>

#include "core/operator.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// What shows that a counted call cannot have done the operator's work.
struct CountedFault {
  std::string_view check;  ///< one of the names in checks.hpp
  std::string text;
};

/// Of a call with cold caches every input comes from device memory. A call that read less than this
/// share of its inputs' bytes did not look at all of them. Counters count whole sectors, so that a
/// right call counts a little more than its bytes.
constexpr double least_share_read = 0.98;

/// The most operations of one warp's instruction on the tensor cores: m64n256k16 of a warp group.
constexpr double most_flops_of_instruction = 2.0 * 64 * 256 * 16 / 4;

/// Nothing where the record has no counts, and where the counts agree with the work: at least the
/// inputs' bytes were read, and a candidate whose products are not in float32 issued at least as
/// many instructions on the tensor cores as the operator's least work needs of the largest ones.
/// What may be superfluous (Work::skippable_bytes, Work::skippable_flops) is not asked for.
std::optional<CountedFault> counted_fault(const Operator& op, const Record& record);

}  // namespace gla_bench
