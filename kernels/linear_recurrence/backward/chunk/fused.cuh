// chunk_fused backward: a block goes back over a sequence by chunks, and the gradient of the state
// stays in its shared memory.
//
//   chunk_keep_states        walks the chunks forwards and keeps the state before each (not in
//                            training, where the forward leaves these states)
//   chunk_gradient_outputs,  with a normalizer: gradients of numerators and denominators
//   gradient_outputs
//   chunk_gradients_fused    goes back: the gradients of a chunk's tokens (scores.cuh, panels.cuh,
//                            gradients.cuh), then that of the state before the chunk,
//                            diag(d) D + scale sum_i (decayed q_i) do_i^T
//   gradient_values, ..      add up what blocks have (sums.cuh)
//
// Grid: sequences * heads * slices of K, slices fastest.
//
// Shared memory: layout.h; the gradient of the state in float32, [block_k, width].
//
// Bytes: q, k and gates twice; v and do as often as there are passes over them (v twice, do once),
// once for all slices, which find them in the L2 cache; a state per chunk written and read; with
// several slices dv's parts in float32, written and read.

#include "linear_recurrence/backward/chunk/output_parts.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

/// Keeps the states before all chunks. A thread always has the same elements of the state, so each
/// reads from the slot before what it has written there itself.
__device__ inline void keep_states(const Sequence& of, int slice, unsigned char* shared) {
  const GradientParams& g = of.g;
  const ChunkSlots<chunk> slots{g.inputs};
  const long long slot = slots.first_slot(of.pair), count = slots.count(of.pair);
  if (count == 0) return;
  for (int n = static_cast<int>(threadIdx.x); n < block_k * width; n += threads) {
    const int key = slice * block_k + n / width, column = n % width;
    if (key < keys)
      work_state(g, work::chunk_states, slot)[static_cast<long long>(key) * width + column] =
          of.initial_state(key, column);
  }
  for (long long number = 0; number + 1 < count; ++number) {
    const Chunk at = chunk_of(of, slice, number, shared);
    Column own;
    begin(at, own);
    own.store_suffixed(at);
    const float* from = work_state(g, work::chunk_states, slot + number);
    float* to = work_state(g, work::chunk_states, slot + number + 1);
    for (int first = 0; first < width; first += panel) {
      load_panel<false>(at, first, at.operands(layout.v));
      __syncthreads();
      outer_product(at.operands(layout.suffixed), at.operands(layout.v),
                    [&](int n, int c, float sum) {
                      const int key = at.key_of(n), column = first + c;
                      if (key >= keys || column >= width) return;
                      const long long place = static_cast<long long>(key) * width + column;
                      to[place] = fmaf(at.whole(n), from[place], sum);
                    });
      __syncthreads();
    }
  }
}

/// The gradient of the slice's rows of the state.
struct Change {
  float* rows;
  int slice;

  __device__ __forceinline__ float& at(int n, int column) const {
    return rows[n * layout.change_ld + column];
  }
  /// Calls act(element, key, column) for this thread's share of the elements that exist.
  template <class Act>
  __device__ __forceinline__ void for_each(Act act) const {
    for (int i = static_cast<int>(threadIdx.x); i < block_k * width; i += threads) {
      const int n = i / width, key = slice * block_k + n;
      if (key < keys) act(at(n, i % width), key, i % width);
    }
  }
};

__device__ inline void go_back(const Sequence& of, int slice, unsigned char* shared) {
  const GradientParams& g = of.g;
  const ChunkSlots<chunk> slots{g.inputs};
  const long long slot = slots.first_slot(of.pair);
  const Change change{reinterpret_cast<float*>(shared + layout.change), slice};
  change.for_each([&](float& x, int key, int c) { x = of.final_gradient(key, c); });
  const float factor = SplitScale(g.inputs.scale).of_sums;
  OwnSums sums;
  for (long long number = slots.count(of.pair); number-- > 0;) {
    const Chunk at = chunk_of(of, slice, number, shared);
    form_gradients(
        at, work_rows(g, work::chunk_states, slot + number, slice),
        [&](int n, int column) { return change.at(n, column); }, NoOthers{},
        [&](int first) {
          outer_product(at.operands(layout.prefixed), at.operands(layout.d_o),
                        [&](int n, int c, float sum) {
                          if (at.key_of(n) >= keys || first + c >= width) return;
                          float& x = change.at(n, first + c);
                          x = fmaf(at.whole(n), x, factor * sum);
                        });
        },
        sums);
    __syncthreads();
  }
  __syncthreads();
  change.for_each([&](float& x, int key, int c) { of.store_initial_gradient(key, c, x); });
  keep_sums(chunk_of(of, slice, 0, shared), of.pair, sums);
}

}  // namespace gla_bench::linear_recurrence::backward::chunked

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    chunk_keep_states(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward;
  extern __shared__ __align__(128) unsigned char shared[];
  chunked::keep_states(Sequence(g, blockIdx.x / slices), static_cast<int>(blockIdx.x % slices),
                       shared);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    chunk_gradients_fused(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward;
  extern __shared__ __align__(128) unsigned char shared[];
  chunked::go_back(Sequence(g, blockIdx.x / slices), static_cast<int>(blockIdx.x % slices), shared);
}
