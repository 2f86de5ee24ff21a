#pragma once
// A tile of scores in registers: the products before and after it, the mask, the bias, and the
// softmax that carries outputs, references and sums from tile to tile. walk.cuh explains how.

#include "device/math.cuh"
#include "softmax_attention/flash/block.cuh"

namespace gla_bench::softmax_attention {

enum class FlashMode { defer, divide, fixed };

template <class Block>
struct FlashScores : Block {
  using typename Block::Ops;
  using typename Block::Outputs;
  using typename Block::Queries;
  using typename Block::Scores;
  template <typename T>
  using OfRows = typename Block::template OfRows<T>;
  using Block::biased, Block::block_n, Block::column_of, Block::column_tiles, Block::key_steps;
  using Block::key_sums, Block::last_row, Block::layout, Block::limit, Block::p, Block::position;
  using Block::range;
  using Block::row_of, Block::row_sums, Block::row_tiles, Block::valid_keys, Block::value_tiles;
  using Block::warp_column, Block::warp_columns;

  /// How far (log2) a logit may exceed its reference before the outputs are rescaled.
  static constexpr float slack = 8.0f;

  /// Whether the operands of the product with V are weights rounded to 16 bits.
  static constexpr bool rounds_weights = !device::is_same<io_t, float>;

  Outputs outputs;
  OfRows<float> reference, sum;
  OfRows<float> rounded_sum;   // of the rounded weights, with a fixed reference
  OfRows<float> shift;  // what is added to a row's logits, where they have a bias

  using Block::Block;

  __device__ __forceinline__ void start(float first_reference) {
#pragma unroll
    for (int r = 0; r < row_tiles; ++r) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        reference[r][h] = first_reference;
        sum[r][h] = rounded_sum[r][h] = 0.0f;
      }
#pragma unroll
      for (int n = 0; n < value_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) outputs[r][n][i] = 0.0f;
    }
  }

  static __device__ __forceinline__ void multiply_keys(Scores& scores, Queries& q,
                                                       const io_t* keys) {
    constexpr int unrolled = Ops::depth == 16 ? key_steps : 2;
    const io_t* mine = keys + warp_column() * layout.key_ld;
#pragma unroll unrolled
    for (int step = 0; step < key_steps; ++step) {
      const int place = q.place(step);
#pragma unroll
      for (int n = 0; n < column_tiles; n += 2) {
        typename Ops::B b[2];
        Ops::load_raw_rows(b, mine + 8 * n * layout.key_ld + step * Ops::depth, layout.key_ld);
#pragma unroll
        for (int r = 0; r < row_tiles; ++r) {
          Ops::multiply(scores[r][n], q.a[r][place], b[0]);
          Ops::multiply(scores[r][n + 1], q.a[r][place], b[1]);
        }
      }
    }
  }

  __device__ __forceinline__ void multiply_values(const Scores& scores, const io_t* values) {
    const io_t* mine = values + warp_column() * layout.value_ld;
#pragma unroll
    for (int step = 0; step < warp_columns / Ops::depth; ++step) {
      typename Ops::A a[row_tiles];
#pragma unroll
      for (int r = 0; r < row_tiles; ++r) a[r] = Ops::from_accumulators(scores[r], step);
#pragma unroll
      for (int n = 0; n < value_tiles; n += 2) {
        typename Ops::B b[2];
        Ops::load_paired_columns(b, mine + step * Ops::depth * layout.value_ld + 8 * n,
                                 layout.value_ld);
#pragma unroll
        for (int r = 0; r < row_tiles; ++r) {
          Ops::multiply(outputs[r][n], a[r], b[0]);
          Ops::multiply(outputs[r][n + 1], a[r], b[1]);
        }
      }
    }
  }

  __device__ __forceinline__ void mask(Scores& scores, int tile) const {
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int end = limit(row_of(r, h)) - tile * block_n;
#pragma unroll
        for (int n = 0; n < column_tiles; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (column_of(n, e) >= end) scores[r][n][2 * h + e] = device::minus_infinity();
      }
  }

  // Decay. Scores become complete logits (log2). In a tile that every row sees completely and that
  // no reset touches, the bias is that of the block's first row, one value for each key, and
  // `shift` is what each row adds to it. Near the diagonal every pair has its own bias.

  /// The first row whose query stands at the position of some key.
  __device__ __forceinline__ int first_standing() const {
    const long long at = position(0);
    return at < 0 ? static_cast<int>(-at) : 0;
  }
  /// Whether a reset separates all rows from all keys of this tile, and so from all earlier keys.
  __device__ __forceinline__ bool all_cut(int tile, int stage) const {
    const int last = valid_keys(tile) - 1;
    const long long key = range.first_key + 1LL * tile * block_n + last;
    const int row = first_standing();
    return key <= position(row) && key_sums(stage)[last].resets != row_sums()[row].resets;
  }
  __device__ __forceinline__ void add_bias(Scores& scores, int tile, int stage, bool full) {
    const float factor = p.scale * device::log2_e;
    const DecaySum* keys = key_sums(stage);
    const bool common = full && keys[0].resets == row_sums()[last_row()].resets;
    if (common) {
      const DecaySum first = row_sums()[0];
#pragma unroll
      for (int n = 0; n < column_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float bias = difference(first, keys[column_of(n, e)]);
#pragma unroll
          for (int r = 0; r < row_tiles; ++r) {
            scores[r][n][e] = fmaf(scores[r][n][e], factor, bias);
            scores[r][n][e + 2] = fmaf(scores[r][n][e + 2], factor, bias);
          }
        }
    } else {
#pragma unroll
      for (int r = 0; r < row_tiles; ++r)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const DecaySum row = row_sums()[row_of(r, h)];
          const int end = limit(row_of(r, h)) - tile * block_n;
#pragma unroll
          for (int n = 0; n < column_tiles; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const DecaySum key = keys[column_of(n, e)];
              const bool seen = column_of(n, e) < end && row.resets == key.resets;
              float& score = scores[r][n][2 * h + e];
              score = seen ? fmaf(score, factor, difference(row, key)) : device::minus_infinity();
            }
        }
    }
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        shift[r][h] = common ? difference(row_sums()[row_of(r, h)], row_sums()[0]) : 0.0f;
  }

  // The softmax of a tile

  /// Turns scores into 2^(logit - reference) and adds them to `sum`. Outputs and sums are rescaled
  /// where a reference changes.
  template <FlashMode mode>
  __device__ __forceinline__ void exponentiate(Scores& scores, OfRows<float>& top) {
    const float factor = biased ? 1.0f : p.scale * device::log2_e;
#pragma unroll
    for (int r = 0; r < row_tiles; ++r) {
      float base[2], rescale[2];
      bool changed = false;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float largest = device::minus_infinity();
#pragma unroll
        for (int n = 0; n < column_tiles; ++n)
          largest = fmaxf(largest, fmaxf(scores[r][n][2 * h], scores[r][n][2 * h + 1]));
        if constexpr (mode == FlashMode::fixed) {
          top[r][h] = fmaxf(top[r][h], biased ? largest + shift[r][h] : largest);
          base[h] = reference[r][h];
        } else {
          largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
          largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
          largest = biased ? largest + shift[r][h] : largest * factor;
          const float before = reference[r][h];
          if (largest > (mode == FlashMode::divide ? before : before + slack)) {
            reference[r][h] = largest;
            changed = true;
          }
          base[h] = reference[r][h] == device::minus_infinity() ? 0.0f : reference[r][h];
          rescale[h] = device::exp2_fast(before - base[h]);
        }
        if constexpr (biased) base[h] -= shift[r][h];
      }
      if constexpr (mode == FlashMode::defer)
        if (__any_sync(0xffffffffu, changed)) {
          scale_outputs(r, rescale);
          sum[r][0] *= rescale[0];
          sum[r][1] *= rescale[1];
        }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float added = 0.0f;
#pragma unroll
        for (int n = 0; n < column_tiles; ++n)
#pragma unroll
          for (int i = 2 * h; i < 2 * h + 2; ++i) {
            scores[r][n][i] = device::exp2_fast(biased ? scores[r][n][i] - base[h]
                                                       : fmaf(scores[r][n][i], factor, -base[h]));
            added += scores[r][n][i];
            if constexpr (mode == FlashMode::fixed && rounds_weights)
              rounded_sum[r][h] += device::to_float(device::from_float<io_t>(scores[r][n][i]));
          }
        if constexpr (mode == FlashMode::divide) {
          // Undoes the last division by the sum, so that this tile can be added.
          rescale[h] *= sum[r][h];
          sum[r][h] = rescale[h] + of_quad(added);
        } else {
          sum[r][h] += added;
        }
      }
      if constexpr (mode == FlashMode::divide) scale_outputs(r, rescale);
    }
  }

  __device__ __forceinline__ void scale_outputs(int r, const float (&by)[2]) {
#pragma unroll
    for (int n = 0; n < value_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) outputs[r][n][i] *= by[i / 2];
  }
  /// Turns outputs of rounded weights into what `sum`, which is not rounded, divides.
  __device__ __forceinline__ void undo_rounding() {
    const auto by = [&](int r, int h) {
      const float all = of_quad(sum[r][h]), rounded = of_quad(rounded_sum[r][h]);
      return rounded == 0.0f ? 1.0f : all / rounded;
    };
#pragma unroll
    for (int r = 0; r < row_tiles; ++r) scale_outputs(r, {by(r, 0), by(r, 1)});
  }
  __device__ __forceinline__ void divide_outputs() {
#pragma unroll
    for (int r = 0; r < row_tiles; ++r) scale_outputs(r, {inverse(sum[r][0]), inverse(sum[r][1])});
  }
  static __device__ __forceinline__ float of_quad(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
  }
  static __device__ __forceinline__ float inverse(float x) {
    return x == 0.0f ? 0.0f : 1.0f / x;
  }

  /// Whether probabilities relative to the fixed reference avoided overflow, and the loss of
  /// precision that their format has near zero.
  __device__ __forceinline__ bool suits(const OfRows<float>& top, float fixed_reference) const {
    constexpr bool half = device::is_same<io_t, __half>;
    constexpr float above = half ? 14.0f : 64.0f, below = half ? 4.0f : 64.0f;
    const float factor = biased ? 1.0f : p.scale * device::log2_e;
    bool all = true;
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float largest = top[r][h];
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        const float past = largest * factor - fixed_reference;
        all = all && (largest == device::minus_infinity() || (past <= above && past >= -below));
      }
    return all;
  }
};

}  // namespace gla_bench::softmax_attention
