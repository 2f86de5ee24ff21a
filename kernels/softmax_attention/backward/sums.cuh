#pragma once
// What the backward attention variants compute outside the quadratic part: lse and D of each query,
// sums of log decays, and the gradient of the decay from sums of dS.
//
// Each workspace region has its index in work::, by these names.
// pairs [B,H,T]: (-lse, D).
// largest [B,Hk]: the largest |do| and |v|, where operands are float16.
// decays [B,H,Tk]: sums of log decays, where decays vary.
// key_sums [B,H,Tk], query_sums [B,H,T]: float64, where there is a decay.
// key_sums holds sums of dS over the queries of a key, query_sums over the keys of a query. Where
// the decay is constant, key_sums holds sums of (i - j) dS and there are no query_sums.

#include "device/math.cuh"
#include "device/types.cuh"
#include "softmax_attention/backward/pairs.cuh"
#include "softmax_attention/params.h"
#include "softmax_attention/ragged.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention {

/// The sum of the finite log decays up to and including a token, and the number of resets among
/// them. The difference of two such sums has float32 accuracy at any sequence length.
struct alignas(16) DecaySum {
  double sum;
  long long resets;
};

/// A log decay below this value cuts like -inf does, because no float32 logits can make up for it.
inline constexpr float reset_below = -1048576.0f;

/// The log decay from one token to a later one, in exponent_unit; -inf across a reset.
__device__ __forceinline__ float decay_between(const DecaySum& before, const DecaySum& after) {
  const float sum = static_cast<float>(after.sum - before.sum) * exponent_unit;
  return before.resets == after.resets ? sum : device::minus_infinity();
}

/// The constant log decay of a head, in exponent_unit.
__device__ __forceinline__ float decay_of_head(const AttentionParams& p, long long head) {
  return fmaxf(p.constant_log_decay[head], -1e30f) * exponent_unit;  // 0 * -inf would be NaN
}

inline constexpr int prepare_threads = BackwardRows::threads;
inline constexpr int scan_threads = backward_scan_threads;

/// of_sequence() with the regions moved to the sequence's parts. `largest` is of all sequences.
template <int ragged = trait::ragged>
__device__ __forceinline__ decltype(auto) backward_sequence(const AttentionParams& p, long long n) {
  if constexpr (ragged != 0) {
    AttentionParams one = of_sequence(p, n);
    const long long query = p.cu_seqlens[n], key = p.cu_seqlens_k[n];
    move_region(one, work::pairs, query, sizeof(float2));
    if constexpr (trait::decay == 2) {
      move_region(one, work::decays, key, sizeof(DecaySum));
      move_region(one, work::query_sums, query, sizeof(double));
    }
    if constexpr (trait::decay != 0) move_region(one, work::key_sums, key, sizeof(double));
    return one;
  } else {
    return (p);
  }
}

/// The token (of its batch entry) that row `row` of `pairs` belongs to, and its head.
struct QueryRow {
  long long batch, head, token;
};
__device__ __forceinline__ QueryRow query_row(const AttentionParams& p, long long row) {
  if constexpr (trait::ragged != 0) {
    const long long n = last_begun(p.sequences, row / p.heads,
                                   [&](long long i) -> long long { return p.cu_seqlens[i]; });
    const long long begin = p.cu_seqlens[n], queries = p.cu_seqlens[n + 1] - begin;
    row -= begin * p.heads;
    return {0, row / queries, begin + row % queries};
  }
  return {row / p.seq / p.heads, row / p.seq % p.heads, row % p.seq};
}

/// Fills `pairs`.
__device__ __forceinline__ void prepare(const AttentionParams& p) {
  constexpr int lanes = row_layout.lanes;
  const long long row = 1LL * blockIdx.x * row_layout.rows + threadIdx.x / lanes;
  if (row >= p.batch * p.heads * p.seq) return;  // all lanes of a row return together
  const auto [b, h, t] = query_row(p, row);
  const float2 pair = pair_of(p, b, h, t);
  if (threadIdx.x % lanes == 0) static_cast<float2*>(p.work[work::pairs])[row] = pair;
}

/// Fills `largest` with the largest |do| and |v| of a sequence and key head. gridDim.y blocks share
/// each.
__device__ __forceinline__ void find_largest(const AttentionParams& p) {
  const long long b = blockIdx.x / p.key_heads, head = blockIdx.x % p.key_heads;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = prepare_threads / 32;
  const long long queries = p.seq * trait::group;
  float largest[2] = {0.0f, 0.0f};
  for (long long n = 1LL * blockIdx.y * warps + warp; n < queries + p.key_seq;
       n += 1LL * gridDim.y * warps) {
    const bool query = n < queries;
    const TokenStrides& s = query ? p.output_strides : p.value_strides;
    const long long h = query ? head * trait::group + n / p.seq : head;
    const long long t = query ? n % p.seq : n - queries;
    const io_t* x =
        static_cast<const io_t*>(query ? p.d_o : p.v) + b * s.batch + h * s.heads + t * s.seq;
    for (int c = lane; c < dim::value_dim; c += 32) {
      const float size = fabsf(device::to_float(x[c]));
      largest[query ? 0 : 1] = fmaxf(largest[query ? 0 : 1], size);
    }
  }
  auto* out = static_cast<int*>(p.work[work::largest]) + 2LL * blockIdx.x;
  for (int n = 0; n < 2; ++n) {
    float x = largest[n];
    for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
    if (lane == 0) atomicMax(out + n, __float_as_int(x));  // floats >= 0 order like their bits
  }
}

/// Prefix sums over a block of scan_threads, added in the order of the threads.
class BlockScan {
 public:
  /// Returns the sum of x over this thread and all before it. total() then gives the block's sum.
  /// `room` is 33 elements in shared memory.
  template <typename T>
  static __device__ __forceinline__ T inclusive(T x, T* room) {
    const int warp = threadIdx.x / 32;
    x = within_warp(x);
    __syncthreads();  // the previous call's room has been read
    if (threadIdx.x % 32 == 31) room[warp] = x;
    __syncthreads();
    if (warp == 0) {
      const T sum = within_warp(room[threadIdx.x]);
      __syncwarp();
      room[threadIdx.x + 1] = sum;
      if (threadIdx.x == 0) room[0] = T{};
    }
    __syncthreads();
    return room[warp] + x;
  }
  template <typename T>
  static __device__ __forceinline__ T total(const T* room) {
    return room[scan_threads / 32];
  }

 private:
  template <typename T>
  static __device__ __forceinline__ T within_warp(T x) {
#pragma unroll
    for (int n = 1; n < 32; n *= 2) {
      const T before = __shfl_up_sync(0xffffffffu, x, n);
      if (static_cast<int>(threadIdx.x % 32) >= n) x += before;
    }
    return x;
  }
};

/// Fills `decays`: one block scans the log decays of one head of one sequence.
__device__ __forceinline__ void sum_decays(const AttentionParams& all) {
  __shared__ double sums[33];
  __shared__ int resets[33];
  const long long n = blockIdx.x / all.heads, head = blockIdx.x % all.heads;
  const AttentionParams& p = backward_sequence(all, n);
  const long long batch = trait::ragged != 0 ? 0 : n;
  const TokenStrides& s = p.decay_strides;
  const auto* decays = static_cast<const gate_t*>(p.log_decay) + batch * s.batch + head * s.heads;
  auto* out = static_cast<DecaySum*>(p.work[work::decays]) + (batch * p.heads + head) * p.key_seq;
  DecaySum before = {0.0, 0};
  for (long long first = 0; first < p.key_seq; first += scan_threads) {
    const long long t = first + threadIdx.x;
    const float decay = t < p.key_seq ? device::to_float(decays[t * s.seq]) : 0.0f;
    const bool reset = decay < reset_below;
    const double sum = BlockScan::inclusive(reset ? 0.0 : static_cast<double>(decay), sums);
    const int count = BlockScan::inclusive(reset ? 1 : 0, resets);
    if (t < p.key_seq) out[t] = {before.sum + sum, before.resets + count};
    before = {before.sum + BlockScan::total(sums), before.resets + BlockScan::total(resets)};
  }
}

/// Forms the gradient of each token's log decay, for one head of one sequence. It is the sum of dS
/// over all pairs that have this token's decay between them. It is computed as a running sum, over
/// the tokens before it, of each key's sum minus each query's sum. Over all tokens the two sums are
/// equal, so the first token's gradient is exactly 0. A query's sum over all its keys would be zero
/// without rounding errors, above all those of o in D. It is used as computed, because then the
/// rounding errors of distant tokens cancel.
__device__ __forceinline__ void differentiate_decays(const AttentionParams& all) {
  __shared__ double room[33];
  const long long n = blockIdx.x / all.heads, head = blockIdx.x % all.heads;
  const AttentionParams& p = backward_sequence(all, n);
  const long long batch = trait::ragged != 0 ? 0 : n, index = batch * p.heads + head;
  const long long offset = p.key_seq - p.seq;
  const auto* queries = static_cast<const double*>(p.work[work::query_sums]) + index * p.seq;
  const auto* keys = static_cast<const double*>(p.work[work::key_sums]) + index * p.key_seq;
  const TokenStrides& s = p.decay_strides;
  float* out = p.d_log_decay + batch * s.batch + head * s.heads;
  double before = 0.0;
  for (long long first = 0; first < p.key_seq; first += scan_threads) {
    const long long t = first + threadIdx.x;
    double x = 0.0;
    if (t < p.key_seq) x = keys[t] - (t >= offset ? queries[t - offset] : 0.0);
    const double sum = BlockScan::inclusive(x, room);
    if (t < p.key_seq) out[t * s.seq] = static_cast<float>(before + (sum - x));
    before += BlockScan::total(room);
  }
}

/// Forms the gradient of a head's constant log decay: the sum of (i - j) dS over all pairs and
/// sequences.
__device__ __forceinline__ void differentiate_constant(const AttentionParams& all) {
  __shared__ double room[33];
  double sum = 0.0;
  for (long long n = 0; n < (trait::ragged != 0 ? all.sequences : all.batch); ++n) {
    const AttentionParams& p = backward_sequence(all, n);
    const long long head = (trait::ragged != 0 ? 0 : n) * p.heads + blockIdx.x;
    const auto* sums = static_cast<const double*>(p.work[work::key_sums]) + head * p.key_seq;
    for (long long t = threadIdx.x; t < p.key_seq; t += scan_threads) sum += sums[t];
  }
  BlockScan::inclusive(sum, room);
  if (threadIdx.x == 0) all.d_log_decay[blockIdx.x] = static_cast<float>(BlockScan::total(room));
}

}  // namespace gla_bench::softmax_attention

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::prepare_threads)
    attention_backward_prepare(const __grid_constant__ gla_bench::AttentionParams p) {
  gla_bench::softmax_attention::prepare(p);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::prepare_threads)
    attention_backward_largest(const __grid_constant__ gla_bench::AttentionParams p) {
  if constexpr (gla_bench::softmax_attention::scaled) gla_bench::softmax_attention::find_largest(p);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::scan_threads)
    attention_backward_sum_decays(const __grid_constant__ gla_bench::AttentionParams p) {
  if constexpr (trait::decay == 2) gla_bench::softmax_attention::sum_decays(p);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::scan_threads)
    attention_backward_decay(const __grid_constant__ gla_bench::AttentionParams p) {
  if constexpr (trait::decay == 2) gla_bench::softmax_attention::differentiate_decays(p);
  if constexpr (trait::decay == 1) gla_bench::softmax_attention::differentiate_constant(p);
}
