// materialized: attention in three steps, with all scores in device memory.
//
// Idea: cuBLAS computes scores = scale Q K^T in float32. attention_softmax turns each row into
// probabilities of type io_t, in the row's own memory. cuBLAS computes O = P V. The softmax applies
// bias and mask. Scores that the mask hides are still computed, written and multiplied.
//
// A row is read once where its block can hold it in registers (launch::held vectors for each
// thread). Otherwise it is read twice: for the sum, then for the probabilities. In 16-bit formats
// probabilities are shorter than scores. They are written in order after a barrier, so they only
// overwrite scores that all threads have read. float16 probabilities are written 2^15 times too
// large and the product takes this factor back, because those of long rows would be subnormal.
//
// Grid: one block for each row, B * H * T. Shared memory: 32 pairs of floats. Workspace: the two
// regions of decay attention, then scores [B,H,T,row_ld] in float32. Bytes moved: q, k and v once
// for each product; scores are written once and read once or twice (only where the row sees the
// key); probabilities are written and read whole; o is written.

#include "softmax_attention/decay_sums.cuh"
#include "softmax_attention/rows/softmax_rows.cuh"

namespace gla_bench::softmax_attention::materialized {

constexpr int threads = tile::threads, held = launch::held;
constexpr bool biased = trait::decay != 0;
constexpr float probability_scale = device::is_same<io_t, __half> ? 32768.0f : 1.0f;

/// Four neighbouring logits (log2), with -inf for keys that the row does not see.
struct Logits {
  float x[4];
};

struct ScoreRow {
  const AttentionParams& p;
  long long batch, head, query;
  float* scores;
  const DecaySum* sums;  // of the keys of the head
  DecaySum own;
  int keys, seen, vectors;

  __device__ __forceinline__ explicit ScoreRow(const AttentionParams& params)
      : p(params),
        batch(blockIdx.x / params.seq / params.heads),
        head(blockIdx.x / params.seq % params.heads),
        query(blockIdx.x % params.seq),
        scores(static_cast<float*>(params.work[biased ? 2 : 0]) +
               1LL * blockIdx.x * launch::row_ld),
        sums(nullptr),
        own{0.0f, 0.0f, 0, 0},
        keys(static_cast<int>(params.key_seq)),
        seen(keys),
        vectors((keys + 3) / 4) {
    const long long position = query + p.key_seq - p.seq;
    if constexpr (trait::causal != 0)
      seen = position < 0 ? 0 : static_cast<int>(position < keys ? position + 1 : keys);
    if constexpr (biased) {
      sums = static_cast<const DecaySum*>(p.work[0]) + (batch * p.heads + head) * p.key_seq;
      if (position >= 0) own = sums[position];
    }
  }

  __device__ __forceinline__ Logits load(int vector) const {
    Logits logits;
    float4 raw = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (4 * vector < seen) raw = reinterpret_cast<const float4*>(scores)[vector];
    const float score[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int key = 4 * vector + n;
      logits.x[n] = device::minus_infinity();
      if (key >= seen) continue;
      if constexpr (biased) {
        const DecaySum sum = sums[key];
        if (sum.resets == own.resets)
          logits.x[n] = fmaf(score[n], device::log2_e, difference(own, sum));
      } else {
        logits.x[n] = score[n];
      }
    }
    return logits;
  }
  /// Without a bias the factor is applied in the subtraction of the reference, as in
  /// softmax_rows.cuh.
  static __device__ __forceinline__ float exponential(float logit, float base) {
    return device::exp2_fast(biased ? logit - base : fmaf(logit, device::log2_e, -base));
  }
  static __device__ __forceinline__ float reference(const Logits& logits) {
    const float top = fmaxf(fmaxf(logits.x[0], logits.x[1]), fmaxf(logits.x[2], logits.x[3]));
    return biased ? top : top * device::log2_e;
  }
  static __device__ __forceinline__ float exponentials(const Logits& logits, float base) {
    return exponential(logits.x[0], base) + exponential(logits.x[1], base) +
           exponential(logits.x[2], base) + exponential(logits.x[3], base);
  }
  static __device__ __forceinline__ void add(PartialSum& part, const Logits& logits) {
    const PartialSum next{fmaxf(part.reference, reference(logits)), 0.0f};
    part.sum = part.sum * device::exp2_fast(part.reference - next.base()) +
               exponentials(logits, next.base());
    part.reference = next.reference;
  }
  __device__ __forceinline__ void store(int vector, const Logits& logits, float base,
                                        float inverse) const {
    device::Pack<io_t, 4> pack;
#pragma unroll
    for (int n = 0; n < 4; ++n)
      pack.value[n] = device::from_float<io_t>(inverse * exponential(logits.x[n], base));
    if (vector < vectors) reinterpret_cast<device::Pack<io_t, 4>*>(scores)[vector] = pack;
  }
  __device__ __forceinline__ void write_log_sum(const PartialSum& all) const {
    if constexpr (trait::lse != 0)
      if (threadIdx.x == 0)
        p.lse[batch * p.lse_strides.batch + head * p.lse_strides.heads +
              query * p.lse_strides.seq] = all.sum == 0.0f
                                               ? device::minus_infinity()
                                               : (all.reference + log2f(all.sum)) * device::ln_2;
  }

  __device__ __forceinline__ void run(PartialSum* scratch) const {
    Logits logits[held > 0 ? held : 1];
    PartialSum part = PartialSum::of_nothing();
    if constexpr (held > 0) {
#pragma unroll
      for (int n = 0; n < held; ++n) logits[n] = load(threadIdx.x + n * threads);
#pragma unroll
      for (int n = 0; n < held; ++n) add(part, logits[n]);
    } else {
      for (int vector = threadIdx.x; 4 * vector < seen; vector += threads) add(part, load(vector));
    }
    const PartialSum all = merge_threads<threads>(part, scratch);
    const float base = all.base(), inverse = probability_scale * all.inverse();
    if constexpr (held > 0) {
#pragma unroll
      for (int n = 0; n < held; ++n) store(threadIdx.x + n * threads, logits[n], base, inverse);
    } else {
      for (int first = 0; first < vectors; first += threads) {
        logits[0] = load(first + threadIdx.x);
        __syncthreads();
        store(first + threadIdx.x, logits[0], base, inverse);
      }
    }
    write_log_sum(all);
  }
};

}  // namespace gla_bench::softmax_attention::materialized

extern "C" __global__ void __launch_bounds__(tile::threads)
    attention_softmax(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ PartialSum scratch[32];
  materialized::ScoreRow(p).run(scratch);
}
