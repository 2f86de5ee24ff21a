#pragma once
// What the fused quadratic form does where decays are scalar or there are none. In place of decayed
// operands, it uses products of plain q and k and a factor for each score.

#include "linear_recurrence/quadratic/blocks.cuh"

namespace gla_bench::linear_recurrence::parallel {

/// Writes rows of a chunk of q or k as operands: with their features, times factor(row), rounded
/// once. Rows from `rows` on and keys from `valid` on are zero.
template <int threads, typename Factor>
__device__ __forceinline__ void form_rows(const io_t* raw, operand_t* out, int out_ld, int rows,
                                          int valid, Factor factor) {
  constexpr int pairs = chunk / 2;
  for (int item = threadIdx.x; item < block * pairs; item += threads) {
    const int row = item / pairs, key = item % pairs * 2;
    float2 x = device::load_pair(raw + row * key_ld + key);
    if constexpr (trait::elu_features != 0) {
      x.x = row < rows && key < valid ? feature(x.x) : 0.0f;
      x.y = row < rows && key + 1 < valid ? feature(x.y) : 0.0f;
    }
    const float by = factor(row);
    Ops::store_rounded(out + row * out_ld + key, by * x.x, by * x.y);
  }
}

/// The gates of one block of tokens, handled by the first warp with a few tokens per lane. Sums are
/// in double, so that the difference of two of them is as exact as the sum of the gates between.
struct ScalarGates {
  static constexpr int each = (block + 31) / 32;

  const Sequence& s;
  Shared shared;
  gate_t pending[each] = {};  // as loaded: a conversion would wait for the load

  __device__ __forceinline__ explicit ScalarGates(const Sequence& sequence, Shared places)
      : s(sequence), shared(places) {}

  /// Starts loading block j's gates. Loads nothing where j lies before the sequence.
  __device__ __forceinline__ void load(long long j) {
    if (threadIdx.x >= 32 || j < 0) return;
#pragma unroll
    for (int n = 0; n < each; ++n) {
      const int row = static_cast<int>(threadIdx.x) * each + n;
      if (trait::decay == token_decay && row < s.rows(j))
        pending[n] = s.g[(j * block + row) * s.gate_stride];
    }
  }

  /// Forms prefixes() of the block whose gates were loaded.
  __device__ __forceinline__ void form_prefixes(int rows) const {
    if (threadIdx.x >= 32) return;
    double sums[each];
    scan(sums, rows);
#pragma unroll
    for (int n = 0; n < each; ++n) shared.prefixes()[threadIdx.x * each + n] = sums[n];
  }

  /// factors(stage) of the block in hand.
  __device__ __forceinline__ void form_factors(int stage, int rows) const {
    if (threadIdx.x >= 32) return;
    double sums[each];
    scan(sums, rows);
    const double total = __shfl_sync(0xffffffffu, sums[each - 1], 31);
    float* out = shared.factors(stage);
#pragma unroll
    for (int n = 0; n < each; ++n)
      out[threadIdx.x * each + n] = device::exp2_fast(static_cast<float>(total - sums[n]));
    if (threadIdx.x == 0) out[block] = device::exp2_fast(static_cast<float>(total));
  }

  /// Scores of the query block with itself times their decays.
  template <typename Scores>
  __device__ __forceinline__ void decay_pairs(Scores& scores) const {
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    const double upper = shared.prefixes()[row], lower = shared.prefixes()[row + 8];
#pragma unroll
    for (int n = 0; n < block / 8; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const double to_key = shared.prefixes()[8 * n + column + x % 2];
        const double between = (x < 2 ? upper : lower) - to_key;  // positive: dropped by the mask
        scores[n][x] *= device::exp2_fast(fminf(static_cast<float>(between), 0.0f));
      }
  }

  /// Decay from the query block's start to a row, including the row's own.
  __device__ __forceinline__ float of_query(int row) const {
    return device::exp2_fast(static_cast<float>(shared.prefixes()[row]));
  }

 private:
  /// Sums of the gates up to and including each of this lane's tokens.
  __device__ __forceinline__ void scan(double (&sums)[each], int rows) const {
    double sum = 0.0;
#pragma unroll
    for (int n = 0; n < each; ++n) {
      const bool live = static_cast<int>(threadIdx.x) * each + n < rows;
      const float gate = trait::decay == head_decay ? s.decay : device::to_float(pending[n]);
      if (live) sum += static_cast<double>(device::log2_e * fmaxf(gate, device::vanishing_gate));
      sums[n] = sum;
    }
    double before = sum;  // of all lanes up to this one
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const double other = __shfl_up_sync(0xffffffffu, before, distance);
      if (static_cast<int>(threadIdx.x) >= distance) before += other;
    }
    before -= sum;
#pragma unroll
    for (int n = 0; n < each; ++n) sums[n] += before;
  }
};

}  // namespace gla_bench::linear_recurrence::parallel
