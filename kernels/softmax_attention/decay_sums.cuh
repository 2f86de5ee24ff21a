#pragma once
// Two small kernels that run before decay attention. They form the DecaySum of every key position
// and head.
//
// decay_totals sums each chunk of 1024 positions in float64. decay_prefix adds up the chunks before
// its own and then scans its own. Grid: chunks * batch * heads blocks, with chunks fastest; of
// ragged batches slots * heads (ragged.cuh). Workspace: region 0 holds the sums, DecaySum [B,H,Tk];
// region 1 holds the totals, {double, int} [B,H,chunks]. Bytes moved: the log decays twice, the
// sums once.

#include "device/types.cuh"
#include "softmax_attention/decay_bias.cuh"
#include "softmax_attention/ragged.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention {

/// of_sequence() with the region of the sums moved to those of the sequence.
template <bool own = own_keys>
__device__ __forceinline__ decltype(auto) with_sums_of_sequence(const AttentionParams& p,
                                                                long long n) {
  if constexpr (own) {
    AttentionParams one = of_sequence(p, n);
    if constexpr (trait::decay != 0)
      move_region(one, 0, trait::ragged != 0 ? p.cu_seqlens_k[n] : n * p.key_seq, sizeof(DecaySum));
    return one;
  } else {
    return (p);
  }
}

struct DecayPrefix {
  static constexpr int threads = 256, each = 4, chunk = threads * each;
  /// A log decay below this many nats counts as a reset, because no logit can make up for it. This
  /// keeps the small parts of the remaining sums.
  static constexpr float reset = -65536.0f;

  struct __align__(16) Total {
    double finite;
    int resets;
    int unused;
    __device__ __forceinline__ void add(const Total& other) {
      finite += other.finite;
      resets += other.resets;
    }
  };

  const AttentionParams& p;  ///< of the sequence
  Place place;
  long long index;  ///< of the chunk in its sequence

  __device__ __forceinline__ DecayPrefix(const AttentionParams& params, const Place& its_place)
      : p(params), place(its_place), index(its_place.block) {}

  __device__ __forceinline__ Total* totals() const {
    return static_cast<Total*>(p.work[1]) + (blockIdx.x - index);
  }
  __device__ __forceinline__ long long first() const { return index * chunk + threadIdx.x * each; }

  __device__ __forceinline__ Total decay(long long position) const {
    if (position >= p.key_seq) return {0.0, 0, 0};
    const long long batch = place.batch(), head = place.head;
    float g;
    if constexpr (trait::decay == 1)
      g = p.constant_log_decay[head];
    else
      g = device::to_float(
          static_cast<const gate_t*>(p.log_decay)[head * p.decay_strides.heads +
                                                  row_of_key(p, p.decay_strides, batch, position)]);
    if (g < reset) return {0.0, 1, 0};
    return {static_cast<double>(g) * 1.44269504088896340736, 0, 0};
  }
  /// The total of the thread's own positions.
  __device__ __forceinline__ Total own() const {
    Total sum{0.0, 0, 0};
#pragma unroll
    for (int i = 0; i < each; ++i) sum.add(decay(first() + i));
    return sum;
  }
  /// Returns the sum over all threads before this one, and sets `all` to the sum over all of them.
  static __device__ __forceinline__ Total before(const Total& value, Total* warps, Total& all) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    Total sum = value;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const Total other{__shfl_up_sync(0xffffffffu, sum.finite, step),
                        __shfl_up_sync(0xffffffffu, sum.resets, step), 0};
      if (lane >= step) sum.add(other);
    }
    __syncthreads();
    if (lane == 31) warps[warp] = sum;
    Total exclusive{__shfl_up_sync(0xffffffffu, sum.finite, 1),
                    __shfl_up_sync(0xffffffffu, sum.resets, 1), 0};
    if (lane == 0) exclusive = {0.0, 0, 0};
    __syncthreads();
    Total result{0.0, 0, 0};
    all = {0.0, 0, 0};
    for (int w = 0; w < threads / 32; ++w) {
      if (w == warp) result = all;
      all.add(warps[w]);
    }
    result.add(exclusive);
    return result;
  }

  __device__ __forceinline__ void write_total(Total* warps) const {
    Total all;
    before(own(), warps, all);
    if (threadIdx.x == 0) totals()[index] = all;
  }
  __device__ __forceinline__ void write_sums(Total* warps) const {
    Total earlier{0.0, 0, 0}, base, all;
    for (long long c = threadIdx.x; c < index; c += threads) earlier.add(totals()[c]);
    before(earlier, warps, base);
    Total sum = before(own(), warps, all);
    sum.add(base);
    DecaySum* out =
        static_cast<DecaySum*>(p.work[0]) + (place.batch() * p.heads + place.head) * p.key_seq;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const long long position = first() + i;
      sum.add(decay(position));
      const float high = static_cast<float>(sum.finite);
      if (position < p.key_seq)
        out[position] = {high, static_cast<float>(sum.finite - high), sum.resets, 0};
    }
  }
};

}  // namespace gla_bench::softmax_attention

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::DecayPrefix::threads)
    decay_totals(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ DecayPrefix::Total warps[DecayPrefix::threads / 32];
  if constexpr (trait::decay != 0) {
    const Place place = place_of<DecayPrefix::chunk>(p, blockIdx.x, p.heads, true);
    if (place.exists())
      DecayPrefix(with_sums_of_sequence(p, place.sequence), place).write_total(warps);
  }
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::DecayPrefix::threads)
    decay_prefix(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ DecayPrefix::Total warps[DecayPrefix::threads / 32];
  if constexpr (trait::decay != 0) {
    const Place place = place_of<DecayPrefix::chunk>(p, blockIdx.x, p.heads, true);
    if (place.exists())
      DecayPrefix(with_sums_of_sequence(p, place.sequence), place).write_sums(warps);
  }
}
