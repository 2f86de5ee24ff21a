#pragma once
// The softmax of a consumer of flash_sm90: scores in registers become weights 2^(logit -
// reference), packed as the operand of the product with V.
//
// Exponents are in units of log2. A row's reference is its largest logit so far to within `slack`,
// and outputs and sums are rescaled only when a logit exceeds it by more, which is rare after the
// first tiles. With a decay, a key has one bias for all rows, relative to the end of its tile
// (key_biases.cuh), and `shift` is what a row has beyond that. Where rows see only a part of a tile
// whose biases lie far apart, every pair of query and key has its own bias, because differences of
// large biases would lose what is left of those of neighbours.

#include "softmax_attention/sm90/items.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// 2^x by a polynomial on the units that multiply and add, for x up to 100. Its relative error is
/// below 2^-18. Results below 2^-126 are zero.
__device__ __forceinline__ float exp2_polynomial(float x) {
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float least = -126.0f;
  const float shifted = fmaxf(x, least) + to_integer;
  const float part = fmaxf(x, least) - (shifted - to_integer);  // in -0.5..0.5
  float power = fmaf(part, 0.00957010381f, 0.0559178784f);
  power = fmaf(part, power, 0.240247449f);
  power = fmaf(part, power, 0.693121813f);
  power = fmaf(part, power, 0.999999261f);
  const unsigned result = __float_as_uint(power) + (__float_as_uint(shifted) << 23);
  return x < least ? 0.0f : __uint_as_float(result);
}

struct Weights {
  static constexpr float slack = 8.0f;
  static constexpr int scores_of_thread = block_n / 2;
  using Scores = float[scores_of_thread];

  Items items;
  const float factor;          ///< takes a product q.k to log2
  float reference[2], sum[2];  ///< of the thread's two rows; the sum is of its own columns
  float rescale[2];            ///< what outputs are multiplied by
  bool changed;                ///< whether a row of the warp has a new reference
  int first_row;               ///< the thread's first query; the other one is eight further on
  int seen_by_all;             ///< keys that all queries of the item see
  DecaySum own[2];             ///< with a decay: the sums of log decays up to the two rows

  __device__ __forceinline__ Weights(const Items& its_items)
      : items(its_items), factor(its_items.p.scale * device::log2_e) {}

  template <bool decays>
  __device__ __forceinline__ void start(const Item& item) {
    items.enter(item);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      reference[h] = device::minus_infinity();
      sum[h] = 0.0f;
    }
    first_row = item.first_row + group() * layout.rows + row_of(0);
    seen_by_all = items.limit(item.first_row);
    if constexpr (decays)
#pragma unroll
      for (int h = 0; h < 2; ++h) own[h] = sum_of(item, row(h));
  }
  __device__ __forceinline__ int row(int half) const {
    return first_row + half * 8;
  }
  /// The sum of log decays up to a query's position, or to the nearest key where it has none.
  __device__ __forceinline__ DecaySum sum_of(const Item& item, int query) const {
    const int place = items.position(query), keys = static_cast<int>(items.p.key_seq);
    return items.sums(item)[place < 0 ? 0 : place < keys ? place : keys - 1];
  }

  /// What makes logits (log2) of a tile's scores: unit * score + shift.
  struct Logits {
    float unit;
    float shift[2];  ///< of each row
  };

  /// Forms the logits of a tile, as those of an item in which something decays or nothing does,
  /// with -inf where a row does not see a key. `release` is called when the stage's keys, biases
  /// and sums are no longer read.
  template <bool decays, typename Release>
  __device__ __forceinline__ Logits form_logits(Scores& scores, int tile, const Stage& stage,
                                                const Release& release) const {
    const bool full = (tile + 1) * block_n <= seen_by_all;
    Logits logits{factor, {0.0f, 0.0f}};
    if constexpr (decays) {
      const DecaySum end = load_sum(stage.biases);
      const auto spread = static_cast<Spread>(end.unused);
      if (!full && spread == Spread::far) {
        add_sums(scores, tile, stage);
        release();
        return {1.0f, {0.0f, 0.0f}};
      }
      if (spread != Spread::none) {
        add_biases(scores, stage);
        logits.unit = 1.0f;
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) logits.shift[h] = bias_between(own[h], end);
    }
    release();
    if (!full) cut(scores, tile);
    return logits;
  }
  __device__ __forceinline__ void add_biases(Scores& scores, const Stage& stage) const {
#pragma unroll
    for (int i = 0; i < scores_of_thread; i += 4) {
      const float2 bias = load_two(stage.biases + 16 + column_of(i) * 4);
      scores[i] = fmaf(scores[i], factor, bias.x);
      scores[i + 1] = fmaf(scores[i + 1], factor, bias.y);
      scores[i + 2] = fmaf(scores[i + 2], factor, bias.x);
      scores[i + 3] = fmaf(scores[i + 3], factor, bias.y);
    }
  }
  /// Gives every pair of query and key its own bias, and cuts off what a row does not see.
  __device__ __forceinline__ void add_sums(Scores& scores, int tile, const Stage& stage) const {
    const int seen[2] = {items.limit(row(0)), items.limit(row(1))};
#pragma unroll
    for (int i = 0; i < scores_of_thread; i += 4)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = column_of(i) + e, key = tile * block_n + column;
        const DecaySum its = load_sum(stage.sums + column * 16);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float& score = scores[i + e + 2 * h];
          score = key < seen[h] && its.resets == own[h].resets
                      ? fmaf(score, factor, difference(own[h], its))
                      : device::minus_infinity();
        }
      }
  }
  __device__ __forceinline__ void cut(Scores& scores, int tile) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int end = items.limit(row(h)) - tile * block_n - lane() % 4 * 2;
#pragma unroll
      for (int i = 0; i < scores_of_thread; i += 4)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (i / 4 * 8 + e >= end) scores[i + e + 2 * h] = device::minus_infinity();
    }
  }

  /// Moves the references of rows whose largest logit asks for it, and sets `rescale`.
  __device__ __forceinline__ void move_references(const Scores& scores, const Logits& logits) {
    bool moved = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest[2] = {scores[2 * h], scores[2 * h + 1]};
#pragma unroll
      for (int i = 4; i < scores_of_thread; i += 4)
#pragma unroll
        for (int e = 0; e < 2; ++e) largest[e] = fmaxf(largest[e], scores[i + e + 2 * h]);
      float top = fmaxf(largest[0], largest[1]);
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      top = fmaf(top, logits.unit, logits.shift[h]);
      const float before = reference[h];
      if (top > before + slack) {
        reference[h] = top;
        moved = true;
      }
      rescale[h] = device::exp2_fast(before - finite(reference[h]));
    }
    changed = __any_sync(0xffffffffu, moved);
    if (changed) sum[0] *= rescale[0], sum[1] *= rescale[1];
  }
  static __device__ __forceinline__ float finite(float reference) {
    return reference == device::minus_infinity() ? 0.0f : reference;
  }

  /// Turns a tile's scores into weights. `release` is called when the stage's keys, biases and sums
  /// are no longer read.
  template <bool decays, typename Release>
  __device__ __forceinline__ void weigh(Scores& scores, int tile, const Stage& stage,
                                        const Release& release) {
    const Logits logits = form_logits<decays>(scores, tile, stage, release);
    move_references(scores, logits);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float base = finite(reference[h]) - logits.shift[h];
      float added[2] = {0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i < scores_of_thread; i += 4)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[i + e + 2 * h];
          const float exponent = fmaf(score, logits.unit, -base);
          const bool by_polynomial =
              tile::emulated != 0 &&
              (i / 4 * 2 + e) % (tile::emulated + (tile::emulated == 0)) == 0;
          score = by_polynomial ? exp2_polynomial(exponent) : device::exp2_fast(exponent);
          added[e] += score;
        }
      sum[h] += added[0] + added[1];
    }
  }
  static __device__ __forceinline__ float of_quad(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
  }
};

}  // namespace gla_bench::softmax_attention::sm90
