#pragma once
// The bias of decay attention without loss of accuracy. The bias is c_i - c_j, the sum of the log
// decays after key j up to position i. It comes from the prefix sums c.
//
// c is stored as two floats (about 48 bits) in units of log2. Resets (-inf) are counted separately,
// so inf - inf never arises. A row does not see a key exactly where their counts differ. The
// difference of two such sums is exact to half a unit in its last place, no matter how large the
// sums are. With a single float for c, differences between neighbours far from the start would be
// lost.

#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// The sum of log decays (log2) up to and including a position. Its finite part is high + low.
struct __align__(16) DecaySum {
  float high, low;
  int resets;
  int unused;
};

/// c_i - c_j (log2), without resets.
__device__ __forceinline__ float difference(const DecaySum& i, const DecaySum& j) {
  return (i.high - j.high) + (i.low - j.low);
}

}  // namespace gla_bench::softmax_attention
