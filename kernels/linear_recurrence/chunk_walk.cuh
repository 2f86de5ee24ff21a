#pragma once
// The walk over the chunks of one sequence that the chunked variants share.
//
// Idea: a block owns one (sequence, head) and `block_v` columns of V. Its state S^T [V, K] stays in
// registers as float32 accumulators: a warp owns warp_v columns of V times its share of K. Per
// chunk of C tokens, with b the running sum of the gates inside the chunk and bn its last value:
//   o^T = S^T (q e^b)^T + v^T A^T,  S^T = S^T diag(e^bn) + v^T (k e^(bn-b)),
//   A_ij = sum_k q_ik k_jk e^(b_i-b_j), i >= j.
// S^T in accumulators is already laid out as the A operand of the first product.
//
// No exponent is ever positive but inside a diagonal block of 8 tokens. The scores form a binary
// tree: where i and j lie in sibling blocks of n = 8, 16, 32 tokens, b_i - b_j is i's prefix in its
// block plus j's suffix in its own, so q (in odd blocks) and k (in even ones) times these factors,
// all <= 1, share one tile per level. Inside 8 tokens both refer to the middle; gates are clamped
// at -20, so exponents stay within 80 nats, which bfloat16 and tf32 hold. Factors are products of
// e^g: no long sum loses its small terms.
//
// Shared memory: chunk_walk_layout.h. Phases, each ended by a barrier: chunk in place; decays of
// blocks of 8; operands of all products; scores beside the state's part of o; scores' part of o and
// the new state.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "linear_recurrence/chunk_walk_layout.h"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

/// What a block walks over.
struct WalkRange {
  long long sequence;    ///< batch index * heads + head
  int slice;             ///< its columns of V start at slice * block_v
  long long begin, end;  ///< tokens
  const float* initial;  ///< [K, V] state before `begin`, or null: zero
  float* final;          ///< [K, V] state after `end`, or null
  float* decay;          ///< [K] product of the decays, or null; only without outputs
};

template <int chunk, int block_v, int warp_v, int warps_k, int stages, int terms, bool outputs>
struct ChunkWalk {
  using Ops = device::Products<io_t, terms, dim::key_dim>;
  using operand_t = typename Ops::element;
  static constexpr WalkShape shape = {dim::key_dim, sizeof(io_t), sizeof(operand_t),
                                      chunk,        block_v,      warp_v,
                                      warps_k,      stages,       outputs};
  static constexpr WalkLayout layout = {shape};
  static constexpr int threads = layout.threads;
  static constexpr int keys = layout.keys, warp_keys = layout.warp_keys, key_ld = layout.key_ld;
  static constexpr int value_ld = layout.value_ld, score_ld = layout.score_ld;
  static constexpr int partial_ld = layout.partial_ld;
  static constexpr int key_tile = layout.key_tile, operand_tile = layout.operand_tile;
  static constexpr int stage_bytes = layout.stage;
  static constexpr bool in_place = layout.in_place;
  static constexpr int levels = layout.levels;
  static constexpr int operands_at = layout.operands, scratch_at = layout.scratch;
  static constexpr int scores_at = layout.scores, block_decays_at = layout.block_decays;
  static constexpr int chunk_decay_at = layout.chunk_decay, total_decay_at = layout.total_decay;
  static constexpr int tiles_v = warp_v / 16, tiles_k = warp_keys / 8, tiles_i = chunk / 8;
  static constexpr int blocks = chunk / 8, pairs = keys / 2;
  static constexpr int score_units = chunk / 16 * (chunk / 16 + 1) / 2;

  using State = float[tiles_v][tiles_k][4];
  using Output = float[tiles_v][tiles_i][4];

  const LinearRecurrenceParams& p;
  const WalkRange& range;
  unsigned char* shared;

  __device__ __forceinline__ void run() {
    State state;
    clear_padding();
    load_state(state);
    const long long chunks = (range.end - range.begin + chunk - 1) / chunk;
    load_chunk(0);
    for (long long c = 0; c < chunks; ++c) {
      if (stages == 1 && c > 0) {
        __syncthreads();
        load_chunk(c);
        if (outputs) store_outputs(c - 1);
      }
      device::wait_copies<0>();
      __syncthreads();
      if (stages == 2 && c + 1 < chunks) load_chunk(c + 1);
      if (stages == 2 && outputs && c > 0) store_outputs(c - 1);
      sum_gates(c);
      __syncthreads();
      form_operands(c);
      __syncthreads();
      if constexpr (outputs) {
        form_scores(c);
        Output out = {};
        multiply_state(c, state, out);
        __syncthreads();
        decay_state(state);
        add_chunk(c, state, out);
        store_partial(out);
      } else {
        decay_state(state);
        add_chunk(c, state);
      }
    }
    __syncthreads();
    if (outputs && chunks > 0) store_outputs(chunks - 1);
    store_state(state);
  }

 private:
  // ---- places in shared memory

  __device__ __forceinline__ io_t* stage(long long c, int tile) const {
    const int slot = stages == 1 ? 0 : static_cast<int>(c % stages);
    return reinterpret_cast<io_t*>(shared + slot * stage_bytes + tile * key_tile);
  }
  __device__ __forceinline__ io_t* k_tile(long long c) const { return stage(c, 0); }
  __device__ __forceinline__ io_t* g_tile(long long c) const { return stage(c, 1); }
  __device__ __forceinline__ io_t* q_tile(long long c) const { return stage(c, 2); }
  __device__ __forceinline__ io_t* v_tile(long long c) const { return stage(c, outputs ? 3 : 2); }

  __device__ __forceinline__ operand_t* operand(int at, int tile) const {
    return reinterpret_cast<operand_t*>(shared + at + tile * operand_tile);
  }
  /// k e^(bn-b), q e^b, and the tile of the score tree's last level: over k, q and g where formats
  /// agree.
  __device__ __forceinline__ operand_t* decayed(long long c, int tile) const {
    if constexpr (in_place)
      return reinterpret_cast<operand_t*>(stage(c, tile == 0 ? 0 : tile == 1 ? 2 : 1));
    else
      return operand(operands_at, tile);
  }
  __device__ __forceinline__ operand_t* decayed_k(long long c) const { return decayed(c, 0); }
  __device__ __forceinline__ operand_t* decayed_q(long long c) const { return decayed(c, 1); }
  __device__ __forceinline__ operand_t* level_tile(long long c, int level) const {
    return level == levels - 1 ? decayed(c, 2) : operand(scratch_at, 2 + level);
  }
  __device__ __forceinline__ operand_t* middle_q() const { return operand(scratch_at, 0); }
  __device__ __forceinline__ operand_t* middle_k() const { return operand(scratch_at, 1); }
  __device__ __forceinline__ operand_t* scores() const { return operand(scores_at, 0); }
  __device__ __forceinline__ float* partial() const { return floats(scratch_at); }
  __device__ __forceinline__ float* block_decays() const { return floats(block_decays_at); }
  __device__ __forceinline__ float* chunk_decay() const { return floats(chunk_decay_at); }
  __device__ __forceinline__ float* total_decay() const { return floats(total_decay_at); }
  __device__ __forceinline__ float* floats(int at) const {
    return reinterpret_cast<float*>(shared + at);
  }

  // ---- this thread's part

  __device__ __forceinline__ static int lane_row() { return threadIdx.x % 32 / 4; }
  __device__ __forceinline__ static int lane_column() { return threadIdx.x % 4 * 2; }
  __device__ __forceinline__ static int warp() { return threadIdx.x / 32; }
  __device__ __forceinline__ static int warp_first_v() { return warp() / warps_k * warp_v; }
  __device__ __forceinline__ static int warp_first_k() { return warp() % warps_k * warp_keys; }

  __device__ __forceinline__ long long batch_index() const { return range.sequence / p.heads; }
  __device__ __forceinline__ long long head_index() const { return range.sequence % p.heads; }
  __device__ __forceinline__ long long offset(const TokenStrides& strides, long long token) const {
    return batch_index() * strides.batch + token * strides.seq + head_index() * strides.heads;
  }
  __device__ __forceinline__ int first_v() const { return range.slice * block_v; }
  __device__ __forceinline__ long long first_token(long long c) const {
    return range.begin + c * chunk;
  }
  __device__ __forceinline__ int valid_tokens(long long c) const {
    const long long left = range.end - first_token(c);
    return left < chunk ? static_cast<int>(left) : chunk;
  }

  // ---- loading and storing

  /// Padding columns of the stages are zero once and for all: in place, zeros become zeros.
  __device__ __forceinline__ void clear_padding() {
    for (int i = threadIdx.x; i < stages * stage_bytes / 16; i += threads)
      reinterpret_cast<uint4*>(shared)[i] = make_uint4(0, 0, 0, 0);
    if constexpr (!outputs)
      for (int k = threadIdx.x; k < keys; k += threads) total_decay()[k] = 1.0f;
    __syncthreads();
  }

  /// Starts the copies of chunk c; rows past the range become zeros: tokens that change nothing.
  __device__ __forceinline__ void load_chunk(long long c) {
    const long long token = first_token(c), key = offset(p.key_strides, token);
    const int rows = valid_tokens(c);
    copy_keys(k_tile(c), static_cast<const io_t*>(p.k) + key, rows);
    copy_keys(g_tile(c), static_cast<const io_t*>(p.g) + key, rows);
    if constexpr (outputs) copy_keys(q_tile(c), static_cast<const io_t*>(p.q) + key, rows);
    device::copy_rows_async<threads, chunk, block_v, value_ld, dim::value_dim>(
        v_tile(c), static_cast<const io_t*>(p.v) + offset(p.value_strides, token) + first_v(),
        p.value_strides.seq, rows, dim::value_dim - first_v());
    device::commit_copies();
  }

  __device__ __forceinline__ void copy_keys(io_t* target, const io_t* source, int rows) {
    device::copy_rows_async<threads, chunk, dim::key_dim, key_ld, dim::key_dim>(
        target, source, p.key_strides.seq, rows, dim::key_dim);
  }

  /// Calls f(accumulator, offset from this lane's first element of a [K, V] state) for every
  /// element that exists. Offsets are constants, so that none occupies a register during the walk.
  template <typename F>
  __device__ __forceinline__ void for_state(State& state, F f) {
    const int first_value = lane_v(), first_key = lane_k();
#pragma unroll
    for (int m = 0; m < tiles_v; ++m)
#pragma unroll
      for (int n = 0; n < tiles_k; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int v = 16 * m + i / 2 * 8, k = 8 * n + i % 2;
          const bool exists = (dim::value_dim % block_v == 0 || first_value + v < dim::value_dim) &&
                              (dim::key_dim == keys || first_key + k < dim::key_dim);
          f(state[m][n][i], exists, k * dim::value_dim + v);
        }
  }
  __device__ __forceinline__ int lane_v() const {
    return first_v() + warp_first_v() + lane_row();
  }
  __device__ __forceinline__ int lane_k() const {
    return warp_first_k() + lane_column();
  }
  __device__ __forceinline__ int lane_offset() const {
    return lane_k() * dim::value_dim + lane_v();
  }

  __device__ __forceinline__ void load_state(State& state) {
    const float* from = range.initial == nullptr ? nullptr : range.initial + lane_offset();
    for_state(state, [from](float& x, bool exists, int at) {
      x = from != nullptr && exists ? from[at] : 0.0f;
    });
  }

  __device__ __forceinline__ void store_state(State& state) {
    if (range.final != nullptr) {
      float* to = range.final + lane_offset();
      for_state(state, [to](float& x, bool exists, int at) {
        if (exists) to[at] = x;
      });
    }
    if constexpr (!outputs)
      if (range.decay != nullptr)
        for (int k = threadIdx.x; k < dim::key_dim; k += threads) range.decay[k] = total_decay()[k];
  }

  /// Sums the warps' partial outputs of chunk c, scales and writes them, neighbouring threads side
  /// by side.
  __device__ __forceinline__ void store_outputs(long long c) {
    constexpr int io_bytes = sizeof(io_t);
    constexpr int width = device::widest_access(dim::value_dim * io_bytes) / io_bytes;
    constexpr int per_row = block_v / width;
    io_t* o = static_cast<io_t*>(p.o) + offset(p.value_strides, first_token(c)) + first_v();
    const int rows = valid_tokens(c);
#pragma unroll 2
    for (int i = threadIdx.x; i < chunk * per_row; i += threads) {
      const int row = i / per_row, column = i % per_row * width;
      if (row >= rows || column >= dim::value_dim - first_v()) continue;
      float sum[width] = {};
#pragma unroll
      for (int w = 0; w < warps_k; ++w) {
        const float* from = partial() + (w * chunk + row) * partial_ld + column;
        const auto part =
            *reinterpret_cast < const device::Pack<float, width<4 ? width : 4>*>(from);
#pragma unroll
        for (int j = 0; j < width; ++j)
          if (j < 4) sum[j] += part.value[j % 4];
        if constexpr (width == 8) {
          const auto rest = *reinterpret_cast<const device::Pack<float, 4>*>(from + 4);
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[4 + j] += rest.value[j];
        }
      }
      device::Pack<io_t, width> packed;
#pragma unroll
      for (int j = 0; j < width; ++j) packed.value[j] = device::from_float<io_t>(p.scale * sum[j]);
      *reinterpret_cast<device::Pack<io_t, width>*>(o + row * p.value_strides.seq + column) =
          packed;
    }
  }

  __device__ __forceinline__ void store_partial(const Output& out) {
    float* at = partial() + warp() % warps_k * chunk * partial_ld;
#pragma unroll
    for (int m = 0; m < tiles_v; ++m)
#pragma unroll
      for (int n = 0; n < tiles_i; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          at[(8 * n + lane_column() + i % 2) * partial_ld + warp_first_v() + 16 * m + lane_row() +
             i / 2 * 8] = out[m][n][i];
  }

  // ---- elementwise phases: an item is a block of 8 tokens times 2 neighbouring keys

  /// Decay of each block of 8 tokens: e^(sum of its gates).
  __device__ __forceinline__ void sum_gates(long long c) {
    for (int item = threadIdx.x; item < blocks * pairs; item += threads) {
      const int block = item / pairs, key = item % pairs * 2;
      const io_t* g = g_tile(c) + block * 8 * key_ld + key;
      float x = 0.0f, y = 0.0f;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 gate = device::load_pair(g + i * key_ld);
        x += device::log2_gate(gate.x);
        y += device::log2_gate(gate.y);
      }
      device::store_pair(block_decays() + block * keys + key, device::exp2_fast(x),
                         device::exp2_fast(y));
    }
  }

  /// Product of the decays of the 2^level blocks that are `block`'s sibling at that level.
  __device__ __forceinline__ float2 sibling_decay(int block, int level, int key) const {
    const int count = 1 << level;
    const float* first = block_decays() + (((block >> level) ^ 1) << level) * keys + key;
    float2 product = device::load_pair(first);
#pragma unroll
    for (int i = 1; i < count; ++i) {
      const float2 next = device::load_pair(first + i * keys);
      product.x *= next.x;
      product.y *= next.y;
    }
    return product;
  }

  /// What a block of 8 tokens needs for 2 keys besides its gates: decays of the blocks between it
  /// and the ends of what it meets at each level and in the chunk, on q's side and on k's.
  struct BlockFactors {
    int block;
    float2 of_q, of_k, of_level[levels];
  };

  __device__ __forceinline__ BlockFactors block_factors(int block, int key) const {
    BlockFactors f = {block, {1.0f, 1.0f}, {1.0f, 1.0f}, {}};
#pragma unroll
    for (int level = 0; level < levels; ++level) {
      const float2 between = sibling_decay(block, level, key);
      f.of_level[level] = odd(block, level) ? f.of_q : f.of_k;
      if (odd(block, level))
        f.of_q = product(f.of_q, between);
      else
        f.of_k = product(f.of_k, between);
    }
    return f;
  }

  __device__ __forceinline__ static bool odd(int block, int level) {
    return (block >> level & 1) != 0;
  }
  __device__ __forceinline__ static float2 product(float2 x, float2 y) {
    return {x.x * y.x, x.y * y.y};
  }
  __device__ __forceinline__ static float2 reciprocal(float2 x) {
    return {device::reciprocal_fast(x.x), device::reciprocal_fast(x.y)};
  }

  /// Turns q, k, g of chunk c into the operands of its products. A block's halves meet in its
  /// middle: in the first, e^(b_middle - b) is the suffix in the half; in the second, e^(b -
  /// b_middle) the prefix.
  __device__ __forceinline__ void form_operands(long long c) {
    for (int item = threadIdx.x; item < blocks * pairs; item += threads) {
      const int block = item / pairs, key = item % pairs * 2;
      const int at = block * 8 * key_ld + key;
      float2 e[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 gate = device::load_pair(g_tile(c) + at + i * key_ld);
        e[i].x = device::exp2_fast(device::log2_gate(gate.x));
        e[i].y = device::exp2_fast(device::log2_gate(gate.y));
      }
      const float2 first = product(product(e[0], e[1]), product(e[2], e[3]));
      const float2 second = product(product(e[4], e[5]), product(e[6], e[7]));
      const BlockFactors f = block_factors(block, key);
      if (block == 0) store_decay(key, product(f.of_k, product(first, second)));
      const float2 one = {1.0f, 1.0f}, e23 = product(e[2], e[3]), e67 = product(e[6], e[7]);
      const float2 to_middle[4] = {product(e[1], e23), e23, e[3], one};
      const float2 to_end[4] = {product(e[5], e67), e67, e[7], one};
      float2 prefix = e[0];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i > 0) prefix = product(prefix, e[i]);
        form_token(c, f, at + i * key_ld, prefix, product(to_middle[i], second),
                   i == 3 ? one : reciprocal(to_middle[i]), to_middle[i]);
      }
      prefix = e[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i > 0) prefix = product(prefix, e[4 + i]);
        form_token(c, f, at + (4 + i) * key_ld, product(first, prefix), to_end[i], prefix,
                   reciprocal(prefix));
      }
    }
  }

  /// One token's operands at offset `at`. Decays for its 2 keys: from its block's start (with its
  /// own), to its block's end, e^(b - b_middle) and the reciprocal.
  __device__ __forceinline__ void form_token(long long c, const BlockFactors& f, int at,
                                             float2 prefix, float2 suffix, float2 middle,
                                             float2 inverse) {
    const float2 k = device::load_pair(k_tile(c) + at), k8 = product(k, suffix);
    store(decayed_k(c) + at, product(k8, f.of_k));
    if constexpr (outputs) {
      const float2 q = device::load_pair(q_tile(c) + at), q8 = product(q, prefix);
      store(decayed_q(c) + at, product(q8, f.of_q));
      store(middle_q() + at, product(q, middle));
      store(middle_k() + at, product(k, inverse));
#pragma unroll
      for (int level = 0; level < levels; ++level)
        store(level_tile(c, level) + at, product(odd(f.block, level) ? q8 : k8, f.of_level[level]));
    }
  }

  __device__ __forceinline__ static void store(operand_t* to, float2 x) {
    Ops::store_rounded(to, x.x, x.y);
  }

  __device__ __forceinline__ void store_decay(int key, float2 decay) {
    device::store_pair(chunk_decay() + key, decay.x, decay.y);
    if constexpr (!outputs) {
      const float2 total = product(device::load_pair(total_decay() + key), decay);
      device::store_pair(total_decay() + key, total.x, total.y);
    }
  }

  // ---- products

  /// out = S^T (q e^b)^T over this warp's keys.
  __device__ __forceinline__ void multiply_state(long long c, const State& state, Output& out) {
    const operand_t* q = decayed_q(c) + warp_first_k();
#pragma unroll
    for (int step = 0; step < warp_keys / Ops::depth; ++step) {
      typename Ops::A a[tiles_v];
#pragma unroll
      for (int m = 0; m < tiles_v; ++m) a[m] = Ops::from_accumulators(state[m], step);
#pragma unroll
      for (int i = 0; i < tiles_i; i += 2) {
        typename Ops::B b[2];
        Ops::load_rows(b, q + i * 8 * key_ld + step * Ops::depth, key_ld);
#pragma unroll
        for (int m = 0; m < tiles_v; ++m) {
          Ops::multiply(out[m][i], a[m], b[0]);
          Ops::multiply(out[m][i + 1], a[m], b[1]);
        }
      }
    }
  }

  /// Scores in units of 16 x 16, dealt to the warps in turn, last rows first.
  __device__ __forceinline__ void form_scores(long long c) {
    constexpr int warps = threads / 32;
    for (int unit = warp(); unit < score_units; unit += warps) {
      int row = chunk / 16 - 1, column = unit;
      while (column > row) column -= row-- + 1;
      float left[4] = {}, right[4] = {};
      if (row == column)
        diagonal_scores(c, row, left, right);
      else
        sibling_scores(c, row, column, left, right);
      operand_t* to = scores() + (16 * row + lane_row()) * score_ld + 16 * column + lane_column();
      Ops::store_scores(to, chunk, left[0], left[1]);
      Ops::store_scores(to + 8, chunk, right[0], right[1]);
      Ops::store_scores(to + 8 * score_ld, chunk, left[2], left[3]);
      Ops::store_scores(to + 8 * score_ld + 8, chunk, right[2], right[3]);
    }
  }

  /// 16 rows and 16 earlier columns: they lie in sibling blocks of the level of their indices'
  /// highest difference.
  __device__ __forceinline__ void sibling_scores(long long c, int row, int column, float (&left)[4],
                                                 float (&right)[4]) {
    const operand_t* tile = level_tile(c, (row ^ column) >= 2 ? 2 : 1);
#pragma unroll 4
    for (int k = 0; k < keys; k += Ops::depth) {
      const auto a = Ops::load_rows(tile + 16 * row * key_ld + k, key_ld);
      typename Ops::B b[2];
      Ops::load_rows(b, tile + 16 * column * key_ld + k, key_ld);
      Ops::multiply(left, a, b[0]);
      Ops::multiply(right, a, b[1]);
    }
  }

  /// A 16 x 16 block on the diagonal: two blocks of 8 round their middles, and below the first the
  /// siblings of the lowest level. Rows that do not belong to a product are zeros in it.
  __device__ __forceinline__ void diagonal_scores(long long c, int block, float (&left)[4],
                                                  float (&right)[4]) {
    const int at = 16 * block * key_ld;
    const operand_t *q = middle_q() + at, *k = middle_k() + at, *both = level_tile(c, 0) + at;
#pragma unroll 4
    for (int step = 0; step < keys; step += Ops::depth) {
      const auto a = Ops::load_rows(q + step, key_ld), next = Ops::load_rows(both + step, key_ld);
      typename Ops::B b[2], b_next[2];
      Ops::load_rows(b, k + step, key_ld);
      Ops::load_rows(b_next, both + step, key_ld);
      Ops::multiply(left, Ops::upper_rows(a), b[0]);
      Ops::multiply(right, Ops::lower_rows(a), b[1]);
      Ops::multiply(left, Ops::lower_rows(next), b_next[0]);
    }
    // Above the diagonal factors may have overflowed: select, do not multiply.
    const int row = lane_row(), column = lane_column();
    if (column > row) left[0] = right[2] = 0.0f;
    if (column + 1 > row) left[1] = right[3] = 0.0f;
    right[0] = right[1] = 0.0f;
  }

  __device__ __forceinline__ void decay_state(State& state) {
    const float* decay = chunk_decay() + warp_first_k() + lane_column();
#pragma unroll
    for (int n = 0; n < tiles_k; ++n) {
      const float2 d = device::load_pair(decay + 8 * n);
#pragma unroll
      for (int m = 0; m < tiles_v; ++m) {
        state[m][n][0] *= d.x;
        state[m][n][1] *= d.y;
        state[m][n][2] *= d.x;
        state[m][n][3] *= d.y;
      }
    }
  }

  /// S^T += v^T (k e^(bn-b)).
  __device__ __forceinline__ void add_chunk(long long c, State& state) {
#pragma unroll
    for (int j = 0; j < chunk; j += Ops::depth) {
      typename Ops::A v[tiles_v];
      load_values(c, j, v);
      add_keys(c, j, v, state);
    }
  }

  /// The same, and out += v^T A^T; the steps of the latter are dealt to the warps that share K.
  __device__ __forceinline__ void add_chunk(long long c, State& state, Output& out) {
#pragma unroll
    for (int j = 0; j < chunk; j += Ops::depth) {
      typename Ops::A v[tiles_v];
      load_values(c, j, v);
      if (warps_k == 1 || j / 16 % warps_k == warp() % warps_k) {
#pragma unroll
        for (int i = j / 16 * 2; i < tiles_i; i += 2) {
          typename Ops::Score b[2];
          Ops::load_scores(b, scores() + i * 8 * score_ld + j, score_ld, chunk);
#pragma unroll
          for (int m = 0; m < tiles_v; ++m) {
            Ops::multiply(out[m][i], v[m], b[0]);
            Ops::multiply(out[m][i + 1], v[m], b[1]);
          }
        }
      }
      add_keys(c, j, v, state);
    }
  }

  __device__ __forceinline__ void load_values(long long c, int j, typename Ops::A (&v)[tiles_v]) {
#pragma unroll
    for (int m = 0; m < tiles_v; ++m)
      v[m] = Ops::load_columns(v_tile(c) + j * value_ld + warp_first_v() + 16 * m, value_ld);
  }

  __device__ __forceinline__ void add_keys(long long c, int j, const typename Ops::A (&v)[tiles_v],
                                           State& state) {
    const operand_t* k = decayed_k(c) + j * key_ld + warp_first_k();
#pragma unroll
    for (int n = 0; n < tiles_k; n += 2) {
      typename Ops::B b[2];
      Ops::load_columns(b, k + 8 * n, key_ld);
#pragma unroll
      for (int m = 0; m < tiles_v; ++m) {
        Ops::multiply(state[m][n], v[m], b[0]);
        Ops::multiply(state[m][n + 1], v[m], b[1]);
      }
    }
  }
};

}  // namespace gla_bench::linear_recurrence
