#pragma once
// The hunt for a race: one candidate is called many times with the same inputs, and the calls that
// leave other bits are told.

#include <cstdint>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "harness/backends/backend.hpp"

namespace gla_bench {

/// An output that a call left with other bits than the first call.
struct OtherBits {
  int call = 0;  ///< counted from 1
  std::string tensor;
  std::int64_t elements = 0;  ///< with other bits
  std::int64_t rows = 0;      ///< along the last axis that have such an element
  std::string first, last;    ///< of them, as "[0,64,1,3]"
  double largest = 0;         ///< difference from the first call; NaN where an element is
};

/// What so many calls left.
struct RepeatedCalls {
  int calls = 0;                  ///< that ran
  int others = 0;                 ///< that left other bits than the first
  std::vector<OtherBits> told{};  ///< outputs of the first `at_most` of these
};

/// Calls a prepared plan on its inputs, each time with poisoned outputs and a poisoned workspace.
/// @param calls at least 2
/// @param at_most how many of the calls with other bits are described
/// @throws RunError where a call fails, or damages inputs or guard zones
RepeatedCalls call_repeatedly(const Operator& op, const Candidate& candidate, Workset& workset,
                              Plan& plan, int calls, int at_most = 8);

/// "call 17: 'o' has other bits in 128 elements of 4 rows, from [0,64,1,3] to [0,64,1,95], by up to
/// 0.5".
std::string describe(const OtherBits& other);

}  // namespace gla_bench
