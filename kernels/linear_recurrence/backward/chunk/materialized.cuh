// chunk_materialized backward: the states before all chunks, and the gradients of the states behind
// them, go through device memory, so that all chunks of all sequences run in parallel.
//
// Idea: a chunk maps the state before it to diag(d) S + L, and the gradient of the state behind it
// to diag(d) D + M, with the same product of decays d [K]. L = sum_j (decayed k_j) v_j^T, and
// M = scale sum_i (decayed q_i) do_i^T. One scan over the chunks forwards makes the states of the
// first, one backwards the gradients of the second.
//
//   chunk_gradient_states    L and d of a chunk
//   chunk_scan_states        in place: the state before each chunk
//                            (neither in training, where the forward leaves these states;
//                            chunk_gradient_changes then forms d)
//   chunk_gradient_outputs,  with a normalizer: gradients of numerators and denominators
//   gradient_outputs
//   chunk_gradient_changes   M of a chunk
//   chunk_scan_changes       in place: the gradient of the state behind each chunk; that of the
//                            initial state
//   chunk_gradients          the gradients of the chunk's tokens: scores.cuh, panels.cuh,
//                            gradients.cuh
//   gradient_values, ..      add up what blocks have (sums.cuh)
//
// Grids: chunks * slices of K, slices fastest; the scans: sequences * heads * ceil(K width / 256).
//
// Shared memory: layout.h.
//
// Bytes: q, k and gates three times; v and do twice each; L and M written twice and read twice;
// with several slices dv's parts in float32, written and read.
//
// Workspace besides that of places.cuh and sums.cuh: changes [slots, K, width] and decays
// [slots, K], in float32.

#include "linear_recurrence/backward/chunk/output_parts.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

__device__ __forceinline__ float* work_decays(const GradientParams& g, long long slot) {
  return static_cast<float*>(g.inputs.work[work::decays]) + slot * keys;
}

/// L of a chunk or, backwards, M.
template <bool backwards>
__device__ inline void store_map(const GradientParams& g, unsigned char* shared) {
  const Place place(g);
  const Sequence of(g, place.pair);
  const Chunk at = chunk_of(of, place.slice, place.number, shared);
  if (at.tokens <= 0) return;
  Column own;
  begin(at, own);
  if constexpr (backwards) {
    own.store_prefixed(at);
  } else {
    own.store_suffixed(at);
  }
  if constexpr (backwards == (launch::given_states != 0)) {
    const int key = at.key_of(own_key());
    if (block_of_warp() == 0 && key < keys) work_decays(g, place.slot)[key] = at.whole(own_key());
  }
  float* to = work_state(g, backwards ? work::changes : work::chunk_states, place.slot);
  const float factor = backwards ? SplitScale(g.inputs.scale).of_sums : 1.0f;
  operand_t* columns = at.operands(backwards ? layout.d_o : layout.v);
  for (int first = 0; first < width; first += panel) {
    load_panel<backwards>(at, first, columns);
    __syncthreads();
    outer_product(at.operands(backwards ? layout.prefixed : layout.suffixed), columns,
                  [&](int n, int c, float sum) {
                    const int key = at.key_of(n), column = first + c;
                    if (key < keys && column < width)
                      to[static_cast<long long>(key) * width + column] = factor * sum;
                  });
    __syncthreads();
  }
}

/// Scans one element of the states of a sequence and head, in place. An element's chunks are loaded
/// several at a time, because the next one's address does not depend on the sum.
template <bool backwards>
__device__ inline void scan(const GradientParams& g) {
  constexpr int at_once = 8;
  constexpr long long pieces = (state_size + sum_threads - 1) / sum_threads;
  const Sequence of(g, blockIdx.x / pieces);
  const long long element = blockIdx.x % pieces * sum_threads + threadIdx.x;
  if (element >= state_size) return;
  const int key = static_cast<int>(element / width), column = static_cast<int>(element % width);
  const ChunkSlots<chunk> slots{g.inputs};
  const long long first = slots.first_slot(of.pair), count = slots.count(of.pair);
  float state = backwards ? of.final_gradient(key, column) : of.initial_state(key, column);
  for (long long n = 0; n < count; n += at_once) {
    float add[at_once], decay[at_once];
    const auto slot = [&](int m) { return first + (backwards ? count - 1 - n - m : n + m); };
#pragma unroll
    for (int m = 0; m < at_once; ++m)
      if (n + m < count) {
        add[m] = work_state(g, backwards ? work::changes : work::chunk_states, slot(m))[element];
        decay[m] = trait::decay == no_decay ? 1.0f : work_decays(g, slot(m))[key];
      }
#pragma unroll
    for (int m = 0; m < at_once; ++m)
      if (n + m < count) {
        work_state(g, backwards ? work::changes : work::chunk_states, slot(m))[element] = state;
        state = fmaf(decay[m], state, add[m]);
      }
  }
  if constexpr (backwards) of.store_initial_gradient(key, column, state);
}

}  // namespace gla_bench::linear_recurrence::backward::chunked

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    chunk_gradient_states(const __grid_constant__ gla_bench::GradientParams g) {
  extern __shared__ __align__(128) unsigned char shared[];
  gla_bench::linear_recurrence::backward::chunked::store_map<false>(g, shared);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    chunk_gradient_changes(const __grid_constant__ gla_bench::GradientParams g) {
  extern __shared__ __align__(128) unsigned char shared[];
  gla_bench::linear_recurrence::backward::chunked::store_map<true>(g, shared);
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    chunk_scan_states(const __grid_constant__ gla_bench::GradientParams g) {
  gla_bench::linear_recurrence::backward::chunked::scan<false>(g);
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    chunk_scan_changes(const __grid_constant__ gla_bench::GradientParams g) {
  gla_bench::linear_recurrence::backward::chunked::scan<true>(g);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    chunk_gradients(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::chunked;
  extern __shared__ __align__(128) unsigned char shared[];
  const Place place(g);
  const gla_bench::linear_recurrence::backward::Sequence of(g, place.pair);
  const Chunk at = chunk_of(of, place.slice, place.number, shared);
  if (at.tokens <= 0) return;
  OwnSums sums;
  form_gradients(
      at, work_rows(g, work::chunk_states, place.slot, place.slice),
      work_rows(g, work::changes, place.slot, place.slice), NoOthers{}, [](int) {}, sums);
  keep_sums(at, place.slot, sums);
}
