// materialized, the backward pass with S, P, dP and dS in device memory and the products done by
// cuBLAS.
//
// Idea: cuBLAS computes S = q k^T and dP = do v^T for all pairs, in float32. One kernel turns a row
// of S and dP into P and dS. cuBLAS then computes dv = P^T do, dk = dS^T q (summed over the query
// heads of a group) and dq = dS k, in float32. A last kernel rounds the results. Pairs that do not
// see each other are computed as well and enter the products as zeros.
//
// Workspace, in addition to sums.cuh: scores [2, B, H, T, ld] in float32 hold S and dP. In float32
// problems P and dS replace them in place. Where there is a decay, dS replaces dP. 16-bit problems
// have operands [2, B, H, T, ld] for P and dS. ld is Tk rounded up to a multiple of 8. The float32
// results are dq [B,H,T,K], dk [B,Hk,Tk,K] and dv [B,Hk,Tk,V].
//
// Grids: one block for each row of scores; one block for each 64 columns of them; one warp for each
// row of a result. Shared memory: the sums over a block.
//
// Bytes moved for each pair: 36 in float32 and 26 in 16-bit formats. S and dP are written and read.
// P and dS are written, and read by three products. Where there is a decay, dS moves once more in
// float32 for the sums over columns.

#include "softmax_attention/backward/sums.cuh"

namespace gla_bench::softmax_attention {

/// The matrices [T, ld] of all heads.
struct Matrices {
  const AttentionParams& p;
  long long ld, size;

  __device__ __forceinline__ explicit Matrices(const AttentionParams& params)
      : p(params),
        ld((params.key_seq + 7) / 8 * 8),
        size(params.batch * params.heads * params.seq * ld) {}

  __device__ __forceinline__ float* scores(int n) const {
    return static_cast<float*>(p.work[work::scores]) + n * size;
  }
  /// P (n = 0) or dS (n = 1) in the format that the products read.
  __device__ __forceinline__ io_t* operands(int n) const {
    return static_cast<io_t*>(p.work[natural ? work::scores : work::operands]) + n * size;
  }
};

/// The factor that undoes the gains applied to dS. `key_head` counts over the key heads of all
/// sequences.
__device__ __forceinline__ float gradient_loss(const AttentionParams& p, long long key_head) {
  return scaled ? 1.0f / (score_gain * gradient_gain(p, key_head)) : 1.0f;
}

/// Turns a row of S and dP into P and dS, and forms the row's sum of dS where decays vary.
__device__ __forceinline__ void weigh_row(const AttentionParams& p) {
  __shared__ double room[prepare_threads / 32];
  const Matrices all(p);
  const long long row = blockIdx.x, head = row / p.seq;
  const long long position = row % p.seq + p.key_seq - p.seq;
  const float2 pair = static_cast<const float2*>(p.work[work::pairs])[row];
  const auto* sums = static_cast<const DecaySum*>(p.work[work::decays]) + head * p.key_seq;
  const float decay = trait::decay == 1 ? decay_of_head(p, head % p.heads) : 0.0f;
  const float scale = p.scale * exponent_unit;
  const float gain = scaled ? gradient_gain(p, head / trait::group) : 1.0f;
  const long long seen = !trait::causal || position >= p.key_seq ? p.key_seq : position + 1;
  double sum = 0.0;
  for (long long j = 4LL * threadIdx.x; j < all.ld; j += 4 * prepare_threads) {
    const long long at = row * all.ld + j;
    const auto s = *reinterpret_cast<const device::Pack<float, 4>*>(all.scores(0) + at);
    const auto d = *reinterpret_cast<const device::Pack<float, 4>*>(all.scores(1) + at);
    device::Pack<io_t, 4> weights, gradients;
    device::Pack<float, 4> exact;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float bias = 0.0f;
      if constexpr (trait::decay == 1) bias = static_cast<float>(position - j - e) * decay;
      if constexpr (trait::decay == 2)
        if (j + e < seen) bias = decay_between(sums[j + e], sums[position]);
      const float exponent = fmaf(s.value[e], scale, pair.x) + bias;
      const float x = device::exp2_fast(natural ? exponent * device::log2_e : exponent);
      const bool valid = j + e < seen;
      weights.value[e] = device::from_float<io_t>(valid ? x : 0.0f);
      exact.value[e] = valid ? x * gain * (d.value[e] - pair.y) : 0.0f;
      gradients.value[e] = device::from_float<io_t>(exact.value[e]);
      if constexpr (trait::decay == 2) sum += static_cast<double>(exact.value[e]);
    }
    *reinterpret_cast<device::Pack<io_t, 4>*>(all.operands(0) + at) = weights;
    *reinterpret_cast<device::Pack<io_t, 4>*>(all.operands(1) + at) = gradients;
    if constexpr (trait::decay != 0 && sizeof(io_t) == 2)
      *reinterpret_cast<device::Pack<float, 4>*>(all.scores(1) + at) = exact;
  }
  if constexpr (trait::decay == 2) {
    for (int n = 16; n > 0; n /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, n);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    double total = 0.0;
    for (int n = 0; n < prepare_threads / 32; ++n) total += room[n];
    static_cast<double*>(p.work[work::query_sums])[row] =
        gradient_loss(p, head / trait::group) * total;
  }
}

/// Forms key_sums of 64 columns, over the rows that see them. It sums dS or, where the decay is
/// constant, (i - j) dS. Both these sums and the sums over rows use dS from before it was rounded
/// for the products. What the two sums share of a pair cancels, and with weak decays rounding
/// errors would be most of what is left.
__device__ __forceinline__ void sum_columns(const AttentionParams& p) {
  constexpr int groups = prepare_threads / 64;
  __shared__ double room[groups][64];
  const Matrices all(p);
  const long long strips = (p.key_seq + 63) / 64, head = blockIdx.x / strips;
  const int column = threadIdx.x % 64, group = threadIdx.x / 64;
  const long long j = blockIdx.x % strips * 64 + column, offset = p.key_seq - p.seq;
  const float* gradients = all.scores(1) + head * p.seq * all.ld;
  const long long strip = blockIdx.x % strips * 64 - offset;
  double sum = 0.0;
  if (j < p.key_seq)
    for (long long i = (strip > 0 ? strip : 0) + group; i < p.seq; i += groups) {
      const float x = gradients[i * all.ld + j];
      sum += static_cast<double>(trait::decay == 1 ? static_cast<float>(i + offset - j) * x : x);
    }
  room[group][column] = sum;
  __syncthreads();
  if (group != 0 || j >= p.key_seq) return;
  for (int n = 1; n < groups; ++n) sum += room[n][column];
  static_cast<double*>(p.work[work::key_sums])[head * p.key_seq + j] =
      gradient_loss(p, head / trait::group) * sum;
}

/// Rounds one row of a result, by one warp.
template <int width>
__device__ __forceinline__ void round_row(const float* sums, void* tensor,
                                          const TokenStrides& strides, long long row, long long seq,
                                          long long heads, float factor) {
  const long long b = row / seq / heads, h = row / seq % heads;
  io_t* out =
      static_cast<io_t*>(tensor) + b * strides.batch + h * strides.heads + row % seq * strides.seq;
  for (int c = threadIdx.x % 32; c < width; c += 32)
    out[c] = device::from_float<io_t>(factor * sums[row * width + c]);
}

__device__ __forceinline__ void round_results(const AttentionParams& p) {
  constexpr int warps = prepare_threads / 32;
  const long long queries = p.batch * p.heads * p.seq, keys = p.batch * p.key_heads * p.key_seq;
  const auto* dq = static_cast<const float*>(p.work[work::results]);
  const float* dk = dq + queries * dim::key_dim;
  const float* dv = dk + keys * dim::key_dim;
  long long row = 1LL * blockIdx.x * warps + threadIdx.x / 32;
  if (row < queries) {
    const float factor = p.scale * gradient_loss(p, row / p.seq / trait::group);
    return round_row<dim::key_dim>(dq, p.dq, dq_strides(p), row, p.seq, p.heads, factor);
  }
  row -= queries;
  if (row < keys) {
    const float factor = p.scale * gradient_loss(p, row / p.key_seq);
    return round_row<dim::key_dim>(dk, p.dk, dk_strides(p), row, p.key_seq, p.key_heads, factor);
  }
  row -= keys;
  if (row < keys)
    round_row<dim::value_dim>(dv, p.dv, dv_strides(p), row, p.key_seq, p.key_heads,
                              1.0f / score_gain);
}

}  // namespace gla_bench::softmax_attention

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::prepare_threads)
    attention_backward_weigh(const __grid_constant__ gla_bench::AttentionParams p) {
  gla_bench::softmax_attention::weigh_row(p);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::prepare_threads)
    attention_backward_sum_columns(const __grid_constant__ gla_bench::AttentionParams p) {
  if constexpr (trait::decay != 0) gla_bench::softmax_attention::sum_columns(p);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::prepare_threads)
    attention_backward_results(const __grid_constant__ gla_bench::AttentionParams p) {
  gla_bench::softmax_attention::round_results(p);
}
