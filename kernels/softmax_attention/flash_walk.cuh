#pragma once
// One block's walk over keys: softmax(scale q k^T + bias) v for a tile of rows, by tiles of keys,
// with no score outside registers.
//
// Scores of a tile come from the tensor cores into accumulators, which become the operand of the
// product with V where they are. Exponents are in units of log2, relative to a reference of the
// row: its largest logit so far, give or take `slack`. The outputs are rescaled when a logit passes
// the reference by more than the slack, which after the first tiles is rare; the quotient is formed
// once, at the end. FlashAttention-1 (FlashMode::divide) keeps the outputs divided instead, at
// every tile. FlashMode::fixed has one reference for all rows and never rescales; rows that it does
// not suit are found by their largest logit, and the walk is done again with running references.
//
// Keys run downwards: from the diagonal of a causal row to its past. K and V come by asynchronous
// copies, with two stages one tile ahead (one barrier a tile), with one as soon as their
// predecessor is no longer read (two barriers).
//
// Rows: the queries of a head; with `packed`, of all heads of a group, the heads of a query side by
// side, so that few queries fill a tile. Where warps_n > 1 warps share rows, take keys of their own
// and are merged at the end. Sinks take the results.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "softmax_attention/decay_bias.cuh"
#include "softmax_attention/flash_layout.h"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

template <typename T, int terms>
struct AttentionProductsOf {
  using type = device::SixteenBitProducts<T>;
};
template <int terms>
struct AttentionProductsOf<float, terms> {
  using type = device::Tf32Products<terms>;
};

/// How attention multiplies: 16-bit problems in their own format (probabilities are at most
/// 2^slack), float32 in tf32 or, with three terms, close to float32.
template <typename T, int terms>
using AttentionProducts = typename AttentionProductsOf<T, terms>::type;

enum class FlashMode { defer, divide, fixed };

/// Which rows and keys a block has.
struct FlashRange {
  long long batch, key_head;
  long long head;       ///< of the first row of a query
  long long first_row;  ///< of rows(): T, or T * group where packed
  long long first_key, end_key;
};

template <int terms, int block_m, int block_n, int warps_m, int warps_n, int stages, bool packed>
struct FlashWalk {
  using Ops = AttentionProducts<io_t, terms>;
  static constexpr bool biased = trait::decay != 0;
  static constexpr FlashLayout layout{{dim::key_dim, dim::value_dim, sizeof(io_t), block_m, block_n,
                                       warps_m, warps_n, stages, biased}};
  static constexpr int threads = layout.threads;
  static constexpr int row_tiles = layout.row_tiles, column_tiles = layout.column_tiles;
  static constexpr int value_tiles = layout.values / 8, key_steps = layout.keys / Ops::depth;
  static constexpr int warp_columns = 8 * column_tiles;
  static constexpr int group = packed ? trait::group : 1;
  /// How far (log2) a logit may pass its reference before the outputs are rescaled.
  static constexpr float slack = 8.0f;
  static_assert(row_tiles * 16 * warps_m == block_m && column_tiles % 2 == 0);
  static_assert(column_tiles * 8 * warps_n == block_n && !(packed && biased));

  using Scores = float[row_tiles][column_tiles][4];
  using Outputs = float[row_tiles][value_tiles][4];
  /// One value for each of the thread's rows: [tile][upper or lower half].
  template <typename T>
  using OfRows = T[row_tiles][2];

  const AttentionParams& p;
  FlashRange range;
  unsigned char* shared;
  const io_t *k, *v;  // the range's first key and its value

  Outputs outputs;
  OfRows<float> reference, sum;
  OfRows<float> shift;  // of a row's logits, where they are biased

  __device__ __forceinline__ FlashWalk(const AttentionParams& params, const FlashRange& its_range,
                                       unsigned char* its_shared)
      : p(params),
        range(its_range),
        shared(its_shared),
        k(static_cast<const io_t*>(p.k) + range.batch * p.key_strides.batch +
          range.key_head * p.key_strides.heads + range.first_key * p.key_strides.seq),
        v(static_cast<const io_t*>(p.v) + range.batch * p.value_strides.batch +
          range.key_head * p.value_strides.heads + range.first_key * p.value_strides.seq) {}

  /// Walks, and gives the sink each row's outputs, divided, and log-sum-exp (in units of log2).
  /// `fixed_reference` (log2) is of FlashMode::fixed.
  template <FlashMode mode, typename Sink>
  __device__ __forceinline__ void run(const Sink& sink, float fixed_reference = 0.0f) {
    load_queries();
    const bool suits = walk<mode>(fixed_reference);
    if constexpr (mode == FlashMode::fixed)
      if (__syncthreads_or(!suits)) walk<FlashMode::defer>(0.0f);
    if constexpr (warps_n == 1)
      finish<mode>(sink);
    else
      merge(sink);
  }

 private:
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / 32; }
  static __device__ __forceinline__ int warp_row() { return warp() / warps_n * 16 * row_tiles; }
  static __device__ __forceinline__ int warp_column() { return warp() % warps_n * warp_columns; }
  /// The thread's row in the block.
  static __device__ __forceinline__ int row_of(int tile, int half) {
    return warp_row() + 16 * tile + 8 * half + lane() / 4;
  }
  static __device__ __forceinline__ int column_of(int tile, int i) {
    return warp_column() + 8 * tile + lane() % 4 * 2 + i % 2;
  }

  __device__ __forceinline__ io_t* queries() const { return reinterpret_cast<io_t*>(shared); }
  __device__ __forceinline__ io_t* keys_of(int stage) const {
    return reinterpret_cast<io_t*>(shared + layout.key_tiles + stage * layout.key_tile);
  }
  __device__ __forceinline__ io_t* values_of(int stage) const {
    return reinterpret_cast<io_t*>(shared + layout.value_tiles + stage * layout.value_tile);
  }
  __device__ __forceinline__ DecaySum* row_sums() const {
    return reinterpret_cast<DecaySum*>(shared + layout.row_sums);
  }
  __device__ __forceinline__ DecaySum* key_sums(int stage) const {
    return reinterpret_cast<DecaySum*>(shared + layout.key_sums) + stage * block_n;
  }

  // Rows

  __device__ __forceinline__ long long rows() const { return p.seq * group; }
  /// Where a row's query stands among the keys.
  __device__ __forceinline__ long long position(int row) const {
    return (range.first_row + row) / group + p.key_seq - p.seq;
  }
  /// The key behind the last one that a row sees, relative to range.first_key and not below it.
  __device__ __forceinline__ int limit(int row) const {
    long long end = range.end_key;
    if constexpr (trait::causal != 0) {
      const long long next = position(row) + 1;
      end = next < end ? next : end;
    }
    if (range.first_row + row >= rows()) end = range.first_key;
    return end < range.first_key ? 0 : static_cast<int>(end - range.first_key);
  }
  /// The last row of the block that there is.
  __device__ __forceinline__ int last_row() const {
    const long long left = rows() - range.first_row;
    return (left < block_m ? static_cast<int>(left) : block_m) - 1;
  }

  // Copies

  __device__ __forceinline__ void load_queries() const {
    const io_t* q = static_cast<const io_t*>(p.q) + range.batch * p.query_strides.batch +
                    range.head * p.query_strides.heads;
    if constexpr (group == 1) {
      device::copy_rows_async<threads, block_m, layout.keys, layout.key_ld, dim::key_dim>(
          queries(), q + range.first_row * p.query_strides.seq, p.query_strides.seq, last_row() + 1,
          dim::key_dim);
    } else {
      for (int i = threadIdx.x; i < block_m * layout.keys; i += threads) {
        const int row = i / layout.keys, column = i % layout.keys;
        const long long at = (range.first_row + row) / group * p.query_strides.seq +
                             (range.first_row + row) % group * p.query_strides.heads + column;
        const bool valid = row <= last_row() && column < dim::key_dim;
        queries()[row * layout.key_ld + column] = valid ? q[at] : device::from_float<io_t>(0.0f);
      }
    }
    if constexpr (biased) {
      for (int row = threadIdx.x; row < block_m; row += threads) {
        const bool valid = row <= last_row() && position(row) >= 0;
        device::copy_async<16>(row_sums() + row, decay_sums() + (valid ? position(row) : 0), valid);
      }
    }
  }
  __device__ __forceinline__ const DecaySum* decay_sums() const {
    return static_cast<const DecaySum*>(p.work[0]) +
           (range.batch * p.heads + range.head) * p.key_seq;
  }
  __device__ __forceinline__ int valid_keys(int tile) const {
    const long long left = range.end_key - range.first_key - 1LL * tile * block_n;
    return left < block_n ? static_cast<int>(left) : block_n;
  }
  __device__ __forceinline__ void load_keys(int tile, int stage) const {
    device::copy_rows_async<threads, block_n, layout.keys, layout.key_ld, dim::key_dim>(
        keys_of(stage), k + tile * (block_n * p.key_strides.seq), p.key_strides.seq,
        valid_keys(tile), dim::key_dim);
    if constexpr (biased) {
      const DecaySum* sums = decay_sums() + range.first_key + 1LL * tile * block_n;
      for (int n = threadIdx.x; n < block_n; n += threads) {
        const bool valid = n < valid_keys(tile);
        device::copy_async<16>(key_sums(stage) + n, valid ? sums + n : sums, valid);
      }
    }
  }
  __device__ __forceinline__ void load_values(int tile, int stage) const {
    device::copy_rows_async<threads, block_n, layout.values, layout.value_ld, dim::value_dim>(
        values_of(stage), v + tile * (block_n * p.value_strides.seq), p.value_strides.seq,
        valid_keys(tile), dim::value_dim);
  }

  /// Operands of the queries: in registers for the whole walk, or loaded anew where they have no
  /// room.
  struct Queries {
    static constexpr bool held = layout.queries_in_registers;
    typename Ops::A a[row_tiles][held ? key_steps : 1];
    const io_t* rows;

    __device__ __forceinline__ explicit Queries(const io_t* first) : rows(first) {
      if constexpr (held)
#pragma unroll
        for (int step = 0; step < key_steps; ++step) read(step, step);
    }
    __device__ __forceinline__ void read(int step, int place) {
#pragma unroll
      for (int r = 0; r < row_tiles; ++r)
        a[r][place] =
            Ops::load_raw_rows(rows + 16 * r * layout.key_ld + step * Ops::depth, layout.key_ld);
    }
    /// The place of a step's operands in `a`.
    __device__ __forceinline__ int place(int step) {
      if constexpr (held) return step;
      read(step, 0);
      return 0;
    }
  };

  // The walk

  /// False where a fixed reference does not suit a row of this thread.
  template <FlashMode mode>
  __device__ __forceinline__ bool walk(float fixed_reference) {
    start(mode == FlashMode::fixed ? fixed_reference : device::minus_infinity());
    OfRows<float> top;  // the largest logit of a row, for a fixed reference
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) top[r][h] = device::minus_infinity();
    const int tiles = (limit(last_row()) + block_n - 1) / block_n;
    const int seen_by_all = limit(0);
    if (tiles > 0) {
      load_keys(tiles - 1, (tiles - 1) % stages);
      if constexpr (stages == 2) load_values(tiles - 1, (tiles - 1) % stages);
    }
    device::commit_copies();
    device::wait_copies<0>();
    __syncthreads();
    Queries q(queries() + warp_row() * layout.key_ld);
    for (int tile = tiles - 1; tile >= 0; --tile) {
      const int stage = tile % stages;
      device::wait_copies<0>();
      __syncthreads();  // this tile is there, the one after it no longer read
      if constexpr (biased)
        if (all_cut(tile, stage)) break;
      if constexpr (stages == 1) {
        load_values(tile, 0);
      } else if (tile > 0) {
        load_keys(tile - 1, stage ^ 1);
        load_values(tile - 1, stage ^ 1);
      }
      device::commit_copies();
      Scores scores = {};
      multiply_keys(scores, q, keys_of(stage));
      const bool full = (tile + 1) * block_n <= seen_by_all;
      if constexpr (biased)
        add_bias(scores, tile, stage, full);
      else if (!full)
        mask(scores, tile);
      exponentiate<mode>(scores, top);
      if constexpr (stages == 1) {
        device::wait_copies<0>();
        __syncthreads();  // the values are there, the keys no longer read
        if (tile > 0) load_keys(tile - 1, 0);
        device::commit_copies();
      }
      multiply_values(scores, values_of(stage));
      if constexpr (mode == FlashMode::divide) divide_outputs();
    }
    device::wait_copies<0>();
    return mode != FlashMode::fixed || suits(top, fixed_reference);
  }

  __device__ __forceinline__ void start(float first_reference) {
#pragma unroll
    for (int r = 0; r < row_tiles; ++r) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        reference[r][h] = first_reference;
        sum[r][h] = 0.0f;
      }
#pragma unroll
      for (int n = 0; n < value_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) outputs[r][n][i] = 0.0f;
    }
  }

  static __device__ __forceinline__ void multiply_keys(Scores& scores, Queries& q,
                                                       const io_t* keys) {
    constexpr int unrolled = Ops::depth == 16 ? key_steps : terms == 1 ? 2 : 1;
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

  // Decay. Scores become whole logits (log2). Of tiles that every row sees whole, and no reset
  // touches, the bias is that of the block's first row, one for each key, and `shift` is what the
  // row adds to it; near the diagonal each pair has its own.

  /// The first row that stands at a key.
  __device__ __forceinline__ int first_standing() const {
    const long long at = position(0);
    return at < 0 ? static_cast<int>(-at) : 0;
  }
  /// Whether a reset cuts all rows from all keys of this tile, and therefore of those before it.
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

  /// Scores to 2^(logit - reference), added up in `sum`; outputs and sums follow the references.
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
          }
        if constexpr (mode == FlashMode::divide) {
          // The outputs times the sum that they were divided by, so that this tile can be added.
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

  /// Whether probabilities relative to the fixed reference kept clear of overflow, and of what
  /// their format loses near zero.
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

  // Results

  /// log2 of the sum of the exponentials, or -inf for a row that sees nothing.
  static __device__ __forceinline__ float log_sum(float reference, float sum) {
    return sum == 0.0f ? device::minus_infinity() : reference + log2f(sum);
  }
  template <typename T>
  static __device__ __forceinline__ void store(T* row, int column, float x, float y) {
    if constexpr (dim::value_dim % 2 == 0) {
      if (column < dim::value_dim) device::store_pair(row + column, x, y);
    } else {
      if (column < dim::value_dim) row[column] = device::from_float<T>(x);
      if (column + 1 < dim::value_dim) row[column + 1] = device::from_float<T>(y);
    }
  }

  template <FlashMode mode, typename Sink>
  __device__ __forceinline__ void finish(const Sink& sink) {
    const int last = last_row();
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float total = mode == FlashMode::divide ? sum[r][h] : of_quad(sum[r][h]);
        const float by = mode == FlashMode::divide ? 1.0f : inverse(total);
        const int row = row_of(r, h);
        if (row > last) continue;
        if (lane() % 4 == 0) sink.log_sum(range, row, log_sum(reference[r][h], total));
        auto* to = sink.row(range, row);
#pragma unroll
        for (int n = 0; n < value_tiles; ++n)
          store(to, 8 * n + lane() % 4 * 2, by * outputs[r][n][2 * h],
                by * outputs[r][n][2 * h + 1]);
      }
  }

  /// finish() where warps share rows: their parts meet in shared memory.
  template <typename Sink>
  __device__ __forceinline__ void merge(const Sink& sink) {
    float* parts = reinterpret_cast<float*>(shared);
    float2* sums = reinterpret_cast<float2*>(shared + layout.partial_bytes);
    __syncthreads();
    const int part = warp() % warps_n;
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = part * block_m + row_of(r, h);
        sums[row] = make_float2(reference[r][h], of_quad(sum[r][h]));
#pragma unroll
        for (int n = 0; n < value_tiles; ++n)
          device::store_pair(parts + row * layout.partial_ld + 8 * n + lane() % 4 * 2,
                             outputs[r][n][2 * h], outputs[r][n][2 * h + 1]);
      }
    __syncthreads();
    constexpr int pairs = layout.values / 2;
    for (int i = threadIdx.x; i < (last_row() + 1) * pairs; i += threads) {
      const int row = i / pairs, column = i % pairs * 2;
      float top = device::minus_infinity(), total = 0.0f;
#pragma unroll
      for (int w = 0; w < warps_n; ++w)
        if (sums[w * block_m + row].y != 0.0f) top = fmaxf(top, sums[w * block_m + row].x);
      float2 all = make_float2(0.0f, 0.0f);
#pragma unroll
      for (int w = 0; w < warps_n; ++w) {
        const int at = w * block_m + row;
        if (sums[at].y == 0.0f) continue;
        const float weight = device::exp2_fast(sums[at].x - top);
        const float2 x = device::load_pair(parts + at * layout.partial_ld + column);
        total += weight * sums[at].y;
        all.x += weight * x.x;
        all.y += weight * x.y;
      }
      if (column == 0) sink.log_sum(range, row, log_sum(top, total));
      const float by = inverse(total);
      store(sink.row(range, row), column, by * all.x, by * all.y);
    }
  }
};

}  // namespace gla_bench::softmax_attention
