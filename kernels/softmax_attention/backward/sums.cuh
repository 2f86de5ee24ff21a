#pragma once
// What the backward variants of attention do beside the quadratic part: what is known of each query
// before (its lse and D), sums of log decays, and the gradient of the decay from sums of dS.
//
// Workspace regions have their places in work::: pairs [B,H,T] (-lse, D), where operands are
// float16 largest [B,Hk] (of |do|, |v|), where decays vary decays [B,H,Tk], where there is a decay
// key_sums [B,H,Tk] and query_sums [B,H,T] in float64, sums of dS over the queries of a key and
// over the keys of a query; where the decay is constant key_sums holds sums of (i - j) dS and is
// alone.

#include "device/math.cuh"
#include "device/types.cuh"
#include "softmax_attention/backward/layout.h"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// Of the finite log decays of the tokens up to one, and how many resets there were. Differences of
/// two such sums are as exact as float32 wants them at any length.
struct alignas(16) DecaySum {
  double sum;
  long long resets;
};

/// Exponents are formed in units of log2, which saves a multiplication, but for float32: there
/// rounding -lse log2 e and scale log2 e would show where logits are large.
inline constexpr bool natural = device::is_same<io_t, float>;
inline constexpr float exponent_unit = natural ? 1.0f : device::log2_e;

/// A log decay below this cuts as -inf does: no logits in float32 make up for it.
inline constexpr float reset_below = -1048576.0f;

/// The log decay between two tokens, given in order, in exponent_unit; -inf across a reset.
__device__ __forceinline__ float decay_between(const DecaySum& before, const DecaySum& after) {
  const float sum = static_cast<float>(after.sum - before.sum) * exponent_unit;
  return before.resets == after.resets ? sum : device::minus_infinity();
}

/// A head's constant log decay, in exponent_unit.
__device__ __forceinline__ float decay_of_head(const AttentionParams& p, long long head) {
  return fmaxf(p.constant_log_decay[head], -1e30f) * exponent_unit;  // 0 * -inf is no number
}

/// Whether P and dS become float16 operands, whose range they could leave: P is multiplied by
/// score_gain, dS by that and by gradient_gain().
inline constexpr bool scaled = device::is_same<io_t, __half>;
inline constexpr float score_gain = scaled ? 1024.0f : 1.0f;
inline constexpr float log2_score_gain = scaled ? 10.0f : 0.0f;

/// The exponent e with x < 2^e of a float16 value x >= 0.
__device__ __forceinline__ int exponent_above(float x) {
  const int e = (__float_as_int(x) >> 23) - 126;
  return e < -24 ? -24 : e > 17 ? 17 : e;
}

/// A power of two with score_gain * gradient_gain * |dP - D| <= 2^15 for all of a sequence's
/// queries of one key head.
__device__ __forceinline__ float gradient_gain(const AttentionParams& p, long long key_head) {
  constexpr int width = dim::value_dim <= 16    ? 4
                        : dim::value_dim <= 64  ? 6
                        : dim::value_dim <= 128 ? 7
                        : dim::value_dim <= 256 ? 8
                                                : 9;
  const float2 largest = static_cast<const float2*>(p.work[work::largest])[key_head];
  const int exponent = 4 - width - exponent_above(largest.x) - exponent_above(largest.y);
  return __int_as_float((exponent + 127) << 23);
}

inline constexpr BackwardRows row_layout{dim::value_dim, static_cast<int>(sizeof(io_t))};
inline constexpr int prepare_threads = BackwardRows::threads;
inline constexpr int scan_threads = backward_scan_threads;

/// pairs: of each query -lse in exponent_unit (with the gain of P), and D = do . o.
__device__ __forceinline__ void prepare(const AttentionParams& p) {
  constexpr int row_width = row_layout.access / row_layout.io_bytes;
  constexpr int row_lanes = row_layout.lanes;
  using Pack = device::Pack<io_t, row_width>;
  constexpr int rows = row_layout.rows;
  const long long row = 1LL * blockIdx.x * rows + threadIdx.x / row_lanes;
  if (row >= p.batch * p.heads * p.seq) return;  // a row's lanes leave together
  const long long b = row / p.seq / p.heads, h = row / p.seq % p.heads, t = row % p.seq;
  const TokenStrides& s = p.output_strides;
  const long long at = b * s.batch + h * s.heads + t * s.seq;
  const auto* o = reinterpret_cast<const Pack*>(static_cast<const io_t*>(p.o) + at);
  const auto* d_o = reinterpret_cast<const Pack*>(static_cast<const io_t*>(p.d_o) + at);
  const int lane = threadIdx.x % row_lanes;
  float sum = 0.0f;
  for (int n = lane; n < dim::value_dim / row_width; n += row_lanes) {
    const Pack x = o[n], y = d_o[n];
#pragma unroll
    for (int e = 0; e < row_width; ++e)
      sum = fmaf(device::to_float(x.value[e]), device::to_float(y.value[e]), sum);
  }
  const unsigned lanes = row_lanes == 32 ? 0xffffffffu
                                         : ((1u << row_lanes % 32) - 1)
                                               << threadIdx.x % 32 / row_lanes * row_lanes;
  for (int n = row_lanes / 2; n > 0; n /= 2) sum += __shfl_xor_sync(lanes, sum, n);
  if (lane != 0) return;
  const TokenStrides& l = p.lse_strides;
  const float lse = p.lse[b * l.batch + h * l.heads + t * l.seq];
  const float exponent =
      lse == device::minus_infinity()
          ? device::minus_infinity()
          : log2_score_gain - lse * exponent_unit;  // P = 0 where nothing is seen
  static_cast<float2*>(p.work[work::pairs])[row] = make_float2(exponent, sum);
}

/// largest: of |do| and |v| of a sequence and key head, over gridDim.y blocks each.
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
    if (lane == 0) atomicMax(out + n, __float_as_int(x));  // floats >= 0 are ordered as their bits
  }
}

/// Sums over a block of scan_threads, in the order of the threads.
class BlockScan {
 public:
  /// x of this thread and all before it. The block's sum is left for total(). `room`: 33 elements
  /// in shared memory.
  template <typename T>
  static __device__ __forceinline__ T inclusive(T x, T* room) {
    const int warp = threadIdx.x / 32;
    x = within_warp(x);
    __syncthreads();  // the last call's room has been read
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

/// decays: a block scans the log decays of one head of one sequence.
__device__ __forceinline__ void sum_decays(const AttentionParams& p) {
  __shared__ double sums[33];
  __shared__ int resets[33];
  const TokenStrides& s = p.decay_strides;
  const auto* decays = static_cast<const io_t*>(p.log_decay) + blockIdx.x / p.heads * s.batch +
                       blockIdx.x % p.heads * s.heads;
  auto* out = static_cast<DecaySum*>(p.work[work::decays]) + blockIdx.x * p.key_seq;
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

/// The gradient of a token's log decay, of one head of one sequence: what dS holds of the pairs
/// that it lies between, as the sum over the tokens before it of what keys gained and queries lost
/// there (over all tokens the two are equal, and the first token's gradient is exactly 0). A
/// query's sum over all its keys is zero but for roundings (of o in D above all); it is taken as it
/// came out, because a far token's rounding then cancels.
__device__ __forceinline__ void differentiate_decays(const AttentionParams& p) {
  __shared__ double room[33];
  const long long offset = p.key_seq - p.seq;
  const auto* queries = static_cast<const double*>(p.work[work::query_sums]) + blockIdx.x * p.seq;
  const auto* keys = static_cast<const double*>(p.work[work::key_sums]) + blockIdx.x * p.key_seq;
  const TokenStrides& s = p.decay_strides;
  float* out = p.d_log_decay + blockIdx.x / p.heads * s.batch + blockIdx.x % p.heads * s.heads;
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

/// The gradient of a head's constant log decay: the sum of (i - j) dS over all pairs and sequences.
__device__ __forceinline__ void differentiate_constant(const AttentionParams& p) {
  __shared__ double room[33];
  const auto* sums = static_cast<const double*>(p.work[work::key_sums]);
  double sum = 0.0;
  for (long long b = 0; b < p.batch; ++b)
    for (long long t = threadIdx.x; t < p.key_seq; t += scan_threads)
      sum += sums[(b * p.heads + blockIdx.x) * p.key_seq + t];
  BlockScan::inclusive(sum, room);
  if (threadIdx.x == 0) p.d_log_decay[blockIdx.x] = static_cast<float>(BlockScan::total(room));
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
