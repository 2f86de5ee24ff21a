// The backward as the recurrence is defined, one token after the other, without tensor cores.
//
// Idea: rows of the state [K, V] do not depend on each other, and neither do rows of its gradient.
// A block owns block_k rows of one sequence and head. A warp owns `rows` of them, and its lanes the
// columns: lane l has columns l, l + 32, .. of each row. A row's dq, dk and gate gradients are sums
// over columns, which the lanes of one warp have. dv is a sum over rows: that of a block over its
// warps is formed in shared memory, that over blocks by a kernel of its own (sums.cuh).
//
//   gradient_forwards   runs the recurrence and keeps the state before every `kept`-th token
//   gradient_outputs    with a normalizer: gradients of numerators and denominators
//   gradient_backwards  goes back over the segments in between. It computes a segment's states once
//                       more, into registers, and then its gradients, last token first
//   gradient_values, gradient_gates, gradient_sums   add up what blocks have (sums.cuh)
//
// A gate's gradient is the sum over v of D (.) e^g S itself. As a difference of sums of q dq and
// k dk it would lose its digits where decays are strong.
//
// Grid: sequences * heads * slices of K, with slices varying fastest.
//
// Shared memory: layout.h.
//
// Bytes: q, k and gates twice; v and do once per slice (neighbouring blocks share them through the
// L2 cache); 4 K V / kept for each token and head, written and read; with several slices dv's parts
// in float32, written and read.

#include "linear_recurrence/backward/recurrent/layout.h"
#include "linear_recurrence/backward/rows.cuh"
#include "linear_recurrence/backward/sums.cuh"
#include "linear_recurrence/chunk/ranges.cuh"

namespace gla_bench::linear_recurrence::backward::recurrent {

constexpr int kept = tile::kept, rows = tile::rows, warps = tile::warps;
constexpr RecurrentGradientLayout layout{keys, width, kept, rows, warps};
constexpr int threads = layout.threads, columns = layout.columns, block_k = layout.block_k;
constexpr int padded = layout.padded_width;
static_assert(layout.slices == slices);

/// This lane's part of the rows that its warp owns.
struct Part {
  float at[rows][columns];
};

/// One block's sequence, its slice of K and its shared memory.
struct Block {
  Sequence of;
  int slice;
  float *v, *d_o;    ///< [kept, padded]
  float *q, *k, *e;  ///< [kept, block_k]; overwritten with dq, dk and the log decays' gradients
  float* parts;      ///< [warps, kept, padded]

  __device__ Block(const GradientParams& g, float* shared)
      : of(g, blockIdx.x / slices), slice(static_cast<int>(blockIdx.x % slices)) {
    v = shared;
    d_o = v + layout.row_floats;
    q = d_o + layout.row_floats;
    k = q + layout.key_floats;
    e = k + layout.key_floats;
    parts = e + layout.key_floats;
  }

  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ __forceinline__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ __forceinline__ int first_key() const { return slice * block_k; }
  __device__ __forceinline__ static int column(int c) { return lane() + 32 * c; }

  __device__ __forceinline__ long long segments() const { return (of.tokens + kept - 1) / kept; }
  __device__ __forceinline__ int count(long long segment) const {
    return static_cast<int>(min(static_cast<long long>(kept), of.tokens - segment * kept));
  }

  /// Calls act(element of the part, key, column) for the elements that exist in the problem.
  template <class Act>
  __device__ __forceinline__ void for_each(Part& part, Act act) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int key = first_key() + warp() * rows + r;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        if (key < keys && column(c) < width) act(part.at[r][c], key, column(c));
    }
  }

  /// The kept state before a segment [K, width].
  __device__ __forceinline__ float* kept_state(long long segment) const {
    const ChunkSlots<kept> slots{of.g.inputs};
    return static_cast<float*>(of.g.inputs.work[work::kept]) +
           (slots.first_slot(of.pair) + segment) * keys * width;
  }

  /// Loads the rows of a segment. Tokens and keys that do not exist leave every state alone: their
  /// q, k, v and do are 0 and their decays 1. Ends with a barrier.
  template <bool gradients>
  __device__ __forceinline__ void load(long long segment) const {
    const long long first = segment * kept;
    const int tokens = count(segment);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < layout.row_floats; i += threads) {
      const int t = i / padded, c = i % padded;
      const bool valid = t < tokens && c < width;
      v[i] = valid ? of.value(first + t, c) : 0.0f;
      if constexpr (gradients) d_o[i] = valid ? of.output_gradient(first + t, c) : 0.0f;
    }
    for (int i = static_cast<int>(threadIdx.x); i < layout.key_floats; i += threads) {
      const int t = i / block_k, key = first_key() + i % block_k;
      const bool valid = t < tokens && key < keys;
      if constexpr (gradients || normalized) q[i] = valid ? of.query(first + t, key) : 0.0f;
      k[i] = valid ? of.key(first + t, key) : 0.0f;
      e[i] = valid ? of.decay(first + t, key) : 1.0f;
    }
    __syncthreads();
  }

  /// state = decay state + k v^T of token t of the segment.
  __device__ __forceinline__ void advance(int t, const Part& state, Part& next) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int key = t * block_k + warp() * rows + r;
      const float decay = e[key], by = k[key];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const float add = by * v[t * padded + column(c)];
        next.at[r][c] =
            trait::decay == no_decay ? state.at[r][c] + add : fmaf(decay, state.at[r][c], add);
      }
    }
  }

  /// Adds up the warps' parts of a segment and calls act(token of the segment, column, sum).
  /// Begins with a barrier.
  template <class Act>
  __device__ __forceinline__ void sum_parts(long long segment, Act act) const {
    __syncthreads();
    const int tokens = count(segment);
    for (int i = static_cast<int>(threadIdx.x); i < tokens * padded; i += threads) {
      if (i % padded >= width) continue;
      float sum = 0.0f;
#pragma unroll
      for (int w = 0; w < warps; ++w) sum += parts[w * layout.row_floats + i];
      act(i / padded, i % padded, sum);
    }
  }
};

/// Keeps the states. With a normalizer also forms each slice's part of the outputs.
__device__ inline void go_forwards(const Block& block) {
  Part state{};
  block.for_each(state, [&](float& x, int key, int c) { x = block.of.initial_state(key, c); });
  for (long long n = 0; n < block.segments(); ++n) {
    float* to = block.kept_state(n);
    block.for_each(state, [&](float& x, int key, int c) { to[key * width + c] = x; });
    if (!normalized && n + 1 == block.segments()) return;
    block.load<false>(n);
#pragma unroll 2
    for (int t = 0; t < kept; ++t) {
      block.advance(t, state, state);
      if constexpr (normalized) {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
          float sum = 0.0f;
#pragma unroll
          for (int r = 0; r < rows; ++r)
            sum = fmaf(block.q[t * block_k + block.warp() * rows + r], state.at[r][c], sum);
          block.parts[block.warp() * layout.row_floats + t * padded + block.column(c)] = sum;
        }
      }
    }
    if constexpr (normalized)
      block.sum_parts(n, [&](int t, int c, float sum) {
        *value_part(block.of, block.slice, n * kept + t, c) = sum;
      });
  }
}

/// The gradients of a segment's tokens, last token first. On entry `change` is the gradient of the
/// state behind the segment; on return, of the state before it.
struct Gradients {
  const Block& block;
  const float scale;
  float u[rows] = {}, lane_u = 0.0f;  ///< bonuses of the warp's rows, and of this lane's
  double bonus_sum = 0.0;             ///< of the row of lane 4 r + 3
  double constant_sum = 0.0;          ///< of the tokens that this thread adds up

  __device__ explicit Gradients(const Block& of) : block(of), scale(of.of.g.inputs.scale) {
    if constexpr (bonus) {
#pragma unroll
      for (int r = 0; r < rows; ++r) u[r] = bonus_of(r);
      lane_u = bonus_of(block.lane() / 4 % rows);
    }
  }

  /// One token of the segment. `old` is the state before it.
  __device__ __forceinline__ void token(int t, const Part& old, Part& change) {
    const int at = t * block_k + block.warp() * rows;
    float v[columns], d_o[columns], dv[columns], sums[4 * rows];
    float score = 0.0f;
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      v[c] = block.v[t * padded + block.column(c)];
      d_o[c] = block.d_o[t * padded + block.column(c)];
      dv[c] = 0.0f;
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float q = block.q[at + r], k = block.k[at + r], e = block.e[at + r];
      const float query = scale * q;
      float dq = 0.0f, dk = 0.0f, gate = 0.0f, own = 0.0f;
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const float before = old.at[r][c];
        float& x = change.at[r][c];
        const float read = bonus ? before : fmaf(e, before, k * v[c]);
        if constexpr (!bonus) x = fmaf(query, d_o[c], x);
        dq = fmaf(read, d_o[c], dq);
        dk = fmaf(x, v[c], dk);
        gate = fmaf(x, before, gate);
        dv[c] = fmaf(x, k, dv[c]);
        x *= e;
        if constexpr (bonus) {
          x = fmaf(query, d_o[c], x);
          if (r == 0) own = fmaf(d_o[c], v[c], own);
        }
      }
      sums[4 * r] = dq, sums[4 * r + 1] = dk, sums[4 * r + 2] = gate, sums[4 * r + 3] = own;
      if constexpr (bonus) score = fmaf(query * k, u[r], score);
    }
#pragma unroll
    for (int c = 0; c < columns; ++c)
      block.parts[block.warp() * layout.row_floats + t * padded + block.column(c)] =
          bonus ? fmaf(score, d_o[c], dv[c]) : dv[c];
    finish(at, sum_over_lanes(sums));
  }

  /// Puts gradients in the place of what they were formed from. Lane 4 r + n has the sum number n
  /// of row r.
  __device__ __forceinline__ void finish(int at, float sum) {
    const int r = block.lane() / 4 % rows, which = block.lane() % 4;
    const float q = block.q[at + r], k = block.k[at + r], e = block.e[at + r];
    const float own = bonus ? scale * __shfl_sync(0xffffffffu, sum, 3) : 0.0f;
    __syncwarp();
    if (block.lane() >= 4 * rows) return;
    if (which == 0) block.q[at + r] = fmaf(scale, sum, lane_u * k * own) * feature_slope(q);
    if (which == 1) block.k[at + r] = fmaf(lane_u * q, own, sum) * feature_slope(k);
    if (which == 2) block.e[at + r] = e * sum;
    if (bonus && which == 3) bonus_sum += static_cast<double>(q * k * own);
  }

  /// Stores a segment's gradients. Begins with a barrier.
  __device__ __forceinline__ void store(long long segment) {
    const Sequence& of = block.of;
    const long long first = segment * kept;
    block.sum_parts(segment, [&](int t, int c, float sum) {
      if constexpr (slices > 1)
        *value_part(of, block.slice, first + t, c) = sum;
      else if (c < values)
        of.store_value(first + t, c, sum);
    });
    const int tokens = block.count(segment);
    for (int i = static_cast<int>(threadIdx.x); i < tokens * block_k; i += threads) {
      const int t = i / block_k, key = block.first_key() + i % block_k;
      if (key >= keys) continue;
      of.store_query(first + t, key, block.q[i]);
      of.store_key(first + t, key, block.k[i]);
      if constexpr (key_gates) of.store_key_gate(first + t, key, block.e[i]);
    }
    if constexpr (scalar_decay) {
      for (int t = static_cast<int>(threadIdx.x); t < tokens; t += threads) {
        double sum = 0.0;
        for (int n = 0; n < block_k; ++n) sum += static_cast<double>(block.e[t * block_k + n]);
        if constexpr (trait::decay == head_decay) constant_sum += sum;
        if constexpr (trait::decay == token_decay)
          gate_part(of, block.slice, first + t) = static_cast<float>(sum);
      }
    }
  }

  /// Keeps what this block adds to sums over the tokens of its head.
  __device__ __forceinline__ void keep_sums() {
    if constexpr (bonus) {
      const int r = block.lane() / 4, key = block.first_key() + block.warp() * rows + r;
      if (block.lane() < 4 * rows && block.lane() % 4 == 3 && key < keys)
        sum_of(block.of.g, block.of.pair, key) = bonus_sum;
    }
    if constexpr (trait::decay == head_decay) {
      static_assert(kept <= 32, "one warp has the sums of all tokens of a segment");
#pragma unroll
      for (int other = 16; other > 0; other /= 2)
        constant_sum += __shfl_xor_sync(0xffffffffu, constant_sum, other);
      if (threadIdx.x == 0) sum_of(block.of.g, block.of.pair, keys + block.slice) = constant_sum;
    }
  }

 private:
  __device__ __forceinline__ float bonus_of(int r) const {
    const int key = block.first_key() + block.warp() * rows + r;
    return key < keys ? block.of.bonus_of(key) : 0.0f;
  }
};

__device__ inline void go_backwards(const Block& block) {
  Part change{};
  block.for_each(change, [&](float& x, int key, int c) { x = block.of.final_gradient(key, c); });
  Gradients gradients{block};
  for (long long n = block.segments(); n-- > 0;) {
    Part states[kept];  // before each token
    states[0] = {};
    const float* from = block.kept_state(n);
    block.for_each(states[0], [&](float& x, int key, int c) { x = from[key * width + c]; });
    block.load<true>(n);
#pragma unroll
    for (int t = 1; t < kept; ++t) block.advance(t - 1, states[t - 1], states[t]);
#pragma unroll
    for (int t = kept - 1; t >= 0; --t) gradients.token(t, states[t], change);
    gradients.store(n);
  }
  gradients.keep_sums();
  block.for_each(change,
                 [&](float& x, int key, int c) { block.of.store_initial_gradient(key, c, x); });
}

}  // namespace gla_bench::linear_recurrence::backward::recurrent

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::recurrent::threads)
    gradient_forwards(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::recurrent;
  extern __shared__ __align__(16) unsigned char shared[];
  go_forwards(Block(g, reinterpret_cast<float*>(shared)));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::recurrent::threads)
    gradient_backwards(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::recurrent;
  extern __shared__ __align__(16) unsigned char shared[];
  go_backwards(Block(g, reinterpret_cast<float*>(shared)));
}
