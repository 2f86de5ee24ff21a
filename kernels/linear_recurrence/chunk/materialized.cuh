// chunk_materialized: the states between chunks go through device memory, so that all chunks of all
// sequences run in parallel. There are three launches.
//
// Idea: a chunk maps its start state S to diag(D) S + L. D is the product of its decays [K], and L
// is the state that it reaches from zero. Such maps compose associatively:
//   (D1, L1) then (D2, L2) = (D2 D1, D2 L1 + L2).
// An exclusive scan over a sequence's chunks therefore turns every L into its chunk's start state.
//
//   chunk_states:  per (sequence, chunk, slice of V) L and D, by the chunk walk without outputs
//   chunk_scan:    per (sequence, piece of the state) the scan, in place, and the final state
//   chunk_outputs: per (sequence, chunk, slice of V) o, by the chunk walk from the start state
//
// Grids: one block for each such tuple, with slices varying fastest. A chunk is walked in steps of
// tile::step tokens.
//
// Shared memory of the walks: walk_layout.h.
//
// Bytes: k and gates twice and q once per slice of V, v twice, o once. The chunks' states are
// written twice and read twice.
//
// Workspace, all float32, with a slot for each chunk (ranges.cuh): states [slots][K][V]. Where
// there are decays, [slots][K], or [slots] where all keys share one. With the normalizer,
// [slots][K]; it goes through the scan like a state without decay.

#include "linear_recurrence/chunk/scan.cuh"
#include "linear_recurrence/chunk/walk.cuh"

namespace gla_bench::linear_recurrence {

template <bool outputs>
using StepWalk = ChunkWalk<tile::step, tile::block_v, tile::warp_v, tile::warps_k, tile::stages,
                           tile::terms, outputs, WorkStates>;
using StateWalk = StepWalk<false>;
using OutputWalk = StepWalk<true>;
static_assert(StateWalk::layout.bytes == launch::state_shared_bytes);
static_assert(OutputWalk::layout.bytes == launch::output_shared_bytes);

/// The range that this block works on: its chunk and slice, with the chunk's places in the
/// workspace.
struct ChunkPlace {
  static constexpr int slices = (dim::value_dim + tile::block_v - 1) / tile::block_v;
  long long batch, head, begin, end;
  int slice;
  float *state, *decay, *normalizer;

  __device__ explicit ChunkPlace(const LinearRecurrenceParams& p) {
    const ChunkSlots<tile::chunk> slots{p};
    const long long at = blockIdx.x / slices, group = at / slots.group(), slot = at % slots.group();
    slice = static_cast<int>(blockIdx.x % slices);
    const long long n = trait::ragged ? slots.owner(slot) : group / p.heads;
    const Span span = span_of(p, n);
    batch = trait::ragged ? 0 : n;
    head = trait::ragged ? group : group % p.heads;
    begin = span.first + (slot - slots.offset(n)) * tile::chunk;
    const long long last = span.first + span.tokens;
    end = begin + tile::chunk < last ? begin + tile::chunk : last;
    state = work_states(p) + at * dim::key_dim * dim::value_dim;
    decay = trait::decay == 0 ? nullptr : work_decays(p) + at * decay_width;
    normalizer = trait::normalize ? work_normalizers(p) + at * dim::key_dim : nullptr;
  }

  /// Whether the slot holds no chunk, which happens with ragged sequences.
  __device__ __forceinline__ bool unused() const { return trait::ragged && begin >= end; }
};

}  // namespace gla_bench::linear_recurrence

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::StateWalk::threads,
                                             tile::residency)
    chunk_states(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  extern __shared__ __align__(128) unsigned char shared[];
  const ChunkPlace at(p);
  if (at.unused()) return;
  const bool first = at.slice == 0;
  const WalkRange range = {at.batch, at.head,
                           at.slice, at.begin,
                           at.end,   nullptr,
                           at.state, first ? at.decay : nullptr,
                           nullptr,  first ? at.normalizer : nullptr};
  StateWalk{p, range, {shared}}.run();
}

extern "C" __global__ void __launch_bounds__(32 * tile::scan_warps)
    chunk_scan(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  constexpr int items = 4;  // enough loads in flight
  scan_chunks<tile::chunk, tile::scan_warps, items>(p);
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::OutputWalk::threads,
                                             tile::residency)
    chunk_outputs(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  extern __shared__ __align__(128) unsigned char shared[];
  const ChunkPlace at(p);
  if (at.unused()) return;
  const WalkRange range = {at.batch, at.head, at.slice, at.begin,      at.end,
                           at.state, nullptr, nullptr,  at.normalizer, nullptr};
  OutputWalk{p, range, {shared}}.run();
}
