#pragma once
// For which extents a candidate's call stays what it is, and the formulas of its numbers there.
//
// A recipe is a function of a problem and can only be asked. It is asked along each extent and at
// many points between, and a formula is kept if it gives every number at every point, those that it
// was not made from among them. Where an extent makes another call (other constants, another number
// of launches, a refusal), or a number has no formula, the extent's range shrinks, down to the one
// value of the candidate's own problem.

#include <string>
#include <vector>

#include "harness/emit/call.hpp"

namespace gla_bench {

/// An extent that a launcher takes when it is called, and its values for which it may be called.
struct RunTimeExtent {
  std::string name;
  std::int64_t least = 1, most = 1;
  std::int64_t own = 1;  ///< of the candidate's problem
  /// For key_heads, where heads are as many times as many: how many. Else 0.
  std::int64_t group = 0;

  bool is_fixed() const { return least == most; }
  /// Whether it is a factor of batch * heads, and whether it counts tokens (or columns) of each.
  bool counts_blocks() const;
  bool counts_tokens() const;
};

/// The extents that a problem of the operator states, without those that are compiled.
std::vector<RunTimeExtent> run_time_extents(const Operator& op, const Problem& problem);

/// The problem with these extents in place of its own.
Problem with_extents(Problem problem, const std::vector<RunTimeExtent>& extents,
                     std::span<const std::int64_t> values);

struct RunTimeCall {
  std::vector<RunTimeExtent> extents;
  std::int64_t most_blocks = 0;  ///< what batch * heads may be at most
  std::int64_t most_tokens = 0;  ///< and times the tokens (or columns) of either kind
  Call<ExtentFormula> call;
  std::size_t points = 0;  ///< at how many extents its numbers were compared with the recipe's
};

/// @throws InputError for a candidate whose call can not be written down (call_of()), and one that
/// its variant refuses
RunTimeCall run_time_call(const Operator& op, const Candidate& candidate, const Limits& limits);

/// Whether the values are within the extents' ranges and the number of tokens.
bool takes(const RunTimeCall& call, std::span<const std::int64_t> values);

}  // namespace gla_bench
