// chunk_fused: one launch. The state stays on chip from the first token to the last.
//
// Idea: a block walks its sequence chunk by chunk (walk.cuh). q, k, v and g are read, and o is
// written, once per slice of V. No state reaches device memory except the initial and the final
// one, and in training those that the backward starts from.
//
// Grid: sequences * ceil(V / block_v) blocks. The slices of a sequence are neighbours, so that they
// find q, k and g in the L2 cache.
//
// Shared memory: walk_layout.h.
//
// Bytes: (q + k + gates) * slices + v + o, and the two states where they are asked for. In training
// also a float32 state for every launch::kept_chunks chunks, to the slots of ranges.cuh. States
// between that are outputs (states_every) are written once.

#include "linear_recurrence/chunk/walk.cuh"

namespace gla_bench::linear_recurrence {

constexpr int kept_chunks = launch::kept_chunks;
static_assert(kept_chunks == 0 || trait::states == 0, "training returns no states between");
using Kept = KeepsBefore<tile::chunk, (kept_chunks > 0 ? kept_chunks : 1)>;
using Keeps = device::Choice<(trait::states != 0), KeepsBetween<tile::chunk>,
                             device::Choice<(kept_chunks > 0), Kept, KeepsNone>::type>::type;
using FusedWalk = ChunkWalk<tile::chunk, tile::block_v, tile::warp_v, tile::warps_k, tile::stages,
                            tile::terms, true, GivenStates, Keeps>;
static_assert(FusedWalk::layout.bytes == launch::shared_bytes);

}  // namespace gla_bench::linear_recurrence

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::FusedWalk::threads,
                                             tile::residency)
    chunk_fused(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int slices = (dim::value_dim + tile::block_v - 1) / tile::block_v;
  const int slice = static_cast<int>(blockIdx.x % slices);
  const long long sequence = blockIdx.x / slices;
  const long long n = sequence / p.heads;
  const Span span = span_of(p, n);
  const WalkRange range = {trait::ragged ? 0 : n,
                           sequence % p.heads,
                           slice,
                           span.first,
                           span.first + span.tokens,
                           given_state(p.initial_state, sequence),
                           given_state(p.final_state, sequence),
                           nullptr,
                           normalizer(p.initial_normalizer, sequence),
                           slice == 0 ? normalizer(p.final_normalizer, sequence) : nullptr};
  FusedWalk{p, range, {shared}, Keeps(p, sequence, slice)}.run();
}
