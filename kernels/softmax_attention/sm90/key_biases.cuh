#pragma once
// The biases of a tile of keys, relative to the tile's end: one number for each key, which stands
// for all queries behind the tile. What a query has beyond it, the sum of log decays from the end
// of the tile up to the query, is one number for the whole tile. Relative to the tile, biases are
// as exact as their own size allows; relative to anything that all tiles share they would not be.
//
// first_tiles.cuh forms them once for each query head. flash_sm90 has them copied into shared
// memory with the tile's keys.

#include "softmax_attention/decay_bias.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// How far biases of a tile, or of whatever else has sums of log decays, lie apart.
enum class Spread {
  none,  ///< all are zero
  near,  ///< none is below -near_bits: differences of biases are good enough for any pair
  far
};

/// Biases up to this size (log2) have an error of at most 2^-20, and differences of two of them not
/// much more: with 256, lse was off by more than its bound.
inline constexpr float near_bits = 32.0f;

/// `largest`: the largest size of a bias; infinite across a reset.
__device__ __forceinline__ Spread spread_of(float largest) {
  return largest == 0.0f ? Spread::none : largest <= near_bits ? Spread::near : Spread::far;
}

/// What c_i - c_j is for a query i and a key j; -inf across a reset.
__device__ __forceinline__ float bias_between(const DecaySum& query, const DecaySum& key) {
  return query.resets == key.resets ? difference(query, key) : device::minus_infinity();
}

/// In device memory and in shared memory: the sum of log decays up to the tile's end, with the
/// spread in the place that is not used, and the tile's biases behind it.
template <int keys>
struct __align__(16) KeyBiases {
  DecaySum end;
  float bias[keys];
};

}  // namespace gla_bench::softmax_attention::sm90
