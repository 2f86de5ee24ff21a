#pragma once
// Where chunks and their states lie in the workspace, and the parts of the chunk kernels that the
// materialized and the fused form share.
//
// Workspace, float32, with a slot for each chunk (chunk/ranges.cuh): states [slots, K, width], the
// states before the chunks.

#include "linear_recurrence/backward/chunk/gradients.cuh"
#include "linear_recurrence/backward/chunk/panels.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

constexpr long long state_size = static_cast<long long>(keys) * width;

__device__ __forceinline__ float* work_state(const GradientParams& g, int region, long long slot) {
  return static_cast<float*>(g.inputs.work[region]) + slot * state_size;
}

/// The slot, the sequence and head, and the slice of K that a block works on. The slices of a slot
/// are neighbours in the grid.
struct Place {
  long long slot, pair, number;  ///< number: of the chunk in its sequence
  int slice;

  __device__ explicit Place(const GradientParams& g)
      : slot(blockIdx.x / slices), slice(static_cast<int>(blockIdx.x % slices)) {
    const ChunkSlots<chunk> slots{g.inputs};
    const long long group = slot / slots.group(), place = slot % slots.group();
    const long long n = trait::ragged != 0 ? slots.owner(place) : group / g.inputs.heads;
    pair = trait::ragged != 0 ? n * g.inputs.heads + group : group;
    number = place - slots.offset(n);
  }
};

/// Chunk `number` of a sequence. It has no tokens where a ragged sequence's slot holds no chunk.
__device__ __forceinline__ Chunk chunk_of(const Sequence& of, int slice, long long number,
                                          unsigned char* shared) {
  const long long first = number * chunk, left = of.tokens - first;
  return {of, slice, first, static_cast<int>(left < chunk ? left : chunk), shared};
}

/// Loads the tokens and forms what a chunk's other phases need of the decays. Begins and ends with
/// a barrier.
__device__ __forceinline__ void begin(const Chunk& at, Column& own) {
  own.load(at);
  __syncthreads();
  own.store_total(at);
  __syncthreads();
}

/// The rows of a slot's state in the workspace.
struct WorkRows {
  const float* state;
  int slice;
  __device__ __forceinline__ float operator()(int n, int column) const {
    return state[static_cast<long long>(slice * block_k + n) * width + column];
  }
};
__device__ __forceinline__ WorkRows work_rows(const GradientParams& g, int region, long long slot,
                                              int slice) {
  return {work_state(g, region, slot), slice};
}

/// All gradients of a chunk. after_panel is called as Panels::run() says.
template <class Before, class Behind, class Others, class After>
__device__ __forceinline__ void form_gradients(const Chunk& at, Before before, Behind behind,
                                               const Others& others, After after_panel,
                                               OwnSums& sums) {
  {
    Column own;
    begin(at, own);
    own.store_suffixed(at);
    if constexpr (layout.kept_change != 0) own.store_prefixed(at);
    Scores{at, own}.form();
  }
  {
    Panels<Before, Behind, Others> panels(at, before, behind, others);
    panels.run(after_panel);
    panels.store();
  }
  Column own;  // once more: registers are few
  own.load(at);
  Gradients gradients{at, own};
  gradients.form(sums);
  gradients.store(sums);
}

}  // namespace gla_bench::linear_recurrence::backward::chunked
