// flash2, the backward pass from o, lse and do. It stores nothing that grows with T Tk.
//
// Idea: a first kernel computes D = do . o. Then each block owns one tile of keys and walks over
// the queries that see these keys (walk.cuh). It recomputes P and accumulates dk and dv in
// registers, over all query heads that share the key head. There are two ways to form dq. In the
// first, all blocks add to float32 sums in device memory, which are rounded at the end. This takes
// five products for each pair of tiles, but the order of the additions varies from run to run. In
// the second, another launch owns tiles of queries and walks over keys. This takes seven products,
// but the order is fixed, so the results are bitwise repeatable.
//
// Grids: B Hk ceil(Tk / block_n) slices for keys, B H ceil(T / block_n) slices for queries; of
// ragged batches slots (ragged.cuh) in place of the blocks of all sequences. A slice
// is a part of the columns of K and V. It is used where one thread could not hold all its sums.
// Shared memory: see layout.h.
//
// Bytes moved: k and v once per slice; q and do once for each tile of keys that meets them, mostly
// from the L2 cache because the blocks of a head run at the same time; the sums of dq with 4 K
// bytes for each such tile of keys.

#include "softmax_attention/backward/walk.cuh"

namespace gla_bench::softmax_attention {

using KeysWalk = BackwardWalk<true, !tile::deterministic>;
using QueriesWalk = BackwardWalk<false, false>;

/// Slots before those of a sequence, for steps of queries.
__device__ __forceinline__ long long first_step(const AttentionParams& p, long long n) {
  return p.cu_seqlens[n] / KeysWalk::at.shape.columns + n;
}

/// The parameters of a sequence for the walks.
template <int ragged = trait::ragged>
__device__ __forceinline__ decltype(auto) walk_sequence(const AttentionParams& p, long long n) {
  if constexpr (ragged != 0) {
    AttentionParams one = backward_sequence(p, n);
    if constexpr (!tile::deterministic)
      move_region(one, work::dq_sums, first_step(p, n),
                  KeysWalk::at.slices * KeysWalk::at.dq_floats * 4);
    return one;
  } else {
    return (p);
  }
}

template <class Walk>
__device__ __forceinline__ void run_walk(const AttentionParams& p, unsigned char* shared) {
  const Place place = Walk::place(p);
  if (trait::ragged != 0 && !place.exists()) return;
  const AttentionParams& one = walk_sequence(p, place.sequence);
  Walk(one, place, shared).run();
}

/// Rounds dq from its float32 sums. Each block handles one step of queries.
__device__ __forceinline__ void round_dq(const AttentionParams& all) {
  constexpr BackwardLayout at = KeysWalk::at;
  long long n = 0, index = blockIdx.x;  // of the block's sequence, and in it
  if constexpr (trait::ragged != 0) {
    n = last_begun(all.sequences, index / all.heads,
                   [&](long long i) { return first_step(all, i); });
    index -= first_step(all, n) * all.heads;
  }
  const AttentionParams& p = of_sequence(all, n);
  const int steps = static_cast<int>((p.seq + at.shape.columns - 1) / at.shape.columns);
  if (trait::ragged != 0 && index >= steps * p.heads) return;
  const long long step = index % steps, head = index / steps;
  const long long first = step * at.shape.columns;
  const TokenStrides& s = dq_strides(p);
  io_t* out = static_cast<io_t*>(p.dq) + head / p.heads * s.batch + head % p.heads * s.heads +
              first * s.seq;
  const auto* sums = static_cast<const float4*>(p.work[work::dq_sums]) +
                     1LL * blockIdx.x * (at.slices * at.dq_floats / 4);
  for (int n = threadIdx.x; n < at.slices * at.dq_floats / 4; n += prepare_threads) {
    const int lane = n % 32, e = n / 32 % 2, g = n / 64 % at.dq_groups;
    const int i = n / 64 / at.dq_groups % at.dq_tiles;
    const int warp = n / 64 / at.dq_groups / at.dq_tiles % at.shape.warps;
    const int slice = n / (at.dq_floats / 4);
    const int group = warp / at.dq_warp_rows * at.dq_groups + g;
    const int column = slice * at.key_columns + 16 * group + 8 * e + lane % 4 * 2;
    if (group >= at.key_columns / 16 || column >= dim::key_dim) continue;
    const int row = (warp % at.dq_warp_rows * at.dq_tiles + i) * 16 + lane / 4;
    const float4 sum = sums[n];
    const float pairs[2][2] = {{sum.x, sum.y}, {sum.z, sum.w}};
    for (int half = 0; half < 2; ++half) {
      if (first + row + 8 * half >= p.seq) continue;
      io_t* to = out + (row + 8 * half) * s.seq + column;
      to[0] = device::from_float<io_t>(p.scale * pairs[half][0]);
      if (column + 1 < dim::key_dim) to[1] = device::from_float<io_t>(p.scale * pairs[half][1]);
    }
  }
}

}  // namespace gla_bench::softmax_attention

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::KeysWalk::at.threads,
                                             tile::residency)
    attention_backward_keys(const __grid_constant__ gla_bench::AttentionParams p) {
  extern __shared__ __align__(128) unsigned char shared[];
  using namespace gla_bench::softmax_attention;
  run_walk<KeysWalk>(p, shared);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::QueriesWalk::at.threads,
                                             tile::residency)
    attention_backward_queries(const __grid_constant__ gla_bench::AttentionParams p) {
  extern __shared__ __align__(128) unsigned char shared[];
  using namespace gla_bench::softmax_attention;
  if constexpr (tile::deterministic) run_walk<QueriesWalk>(p, shared);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::prepare_threads)
    attention_backward_round(const __grid_constant__ gla_bench::AttentionParams p) {
  if constexpr (!tile::deterministic) gla_bench::softmax_attention::round_dq(p);
}
