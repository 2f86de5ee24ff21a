#pragma once
// The bias of decay attention, c_i - c_j = the sum of the log decays after key j up to position i,
// from sums that can not lose it.
//
// c is kept in two floats (about 48 bits) and in units of log2; resets (-inf) are counted apart, so
// that no inf - inf arises: a key is cut from a row exactly where their counts differ. A difference
// of such sums is good to half a unit in the last place of the difference itself, whatever lies
// before; one float for c would lose differences between neighbours far from the start.

#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// Log decays (log2) up to and including a position: their finite part is high + low.
struct __align__(16) DecaySum {
  float high, low;
  int resets;
  int unused;
};

/// c_i - c_j (log2), resets aside.
__device__ __forceinline__ float difference(const DecaySum& i, const DecaySum& j) {
  return (i.high - j.high) + (i.low - j.low);
}

}  // namespace gla_bench::softmax_attention
