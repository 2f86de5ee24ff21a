#pragma once
// What the kernels of the quadratic backward leave for each other in the workspace. A slot is a
// chunk's (chunk/ranges.cuh), and a piece is a slot's share of one slice of K.
//
//   operands  [pieces, 2, chunk, block_k] k with all decays behind it in its chunk, and q with all
//             decays up to what it reads, without the scale. Rounded as operands; zero where there
//             is no token or key.
//   decays    [pieces, 3, block_k] in float32: the product of the chunk's decays; what its queries
//             read of the initial state and what its keys give to the gradient of the final one,
//             each as the sum over the tokens of q dq or k dk, with the chunk's own decays alone.
//   read      [pieces, chunk, block_k] in float32: what queries read of all earlier chunks, without
//             their own decays and the scale.
//   passing   [pieces, chunks of a sequence, block_k] in float32, only with decays: the sum over a
//             chunk's queries of q dq of what was written before chunk J, with the decays up to the
//             start of J and those of the queries' own chunk.

#include "linear_recurrence/backward/chunk/places.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

constexpr bool decays_exist = trait::decay != no_decay;

/// A number of `decays` for each key.
enum Edge { total_decay, initial_read, final_written };

/// The pieces of one sequence, head and slice, by numbers of chunks.
struct Pieces {
  const GradientParams& g;
  long long first, count;
  int slice;

  __device__ __forceinline__ Pieces(const Sequence& of, int of_slice) : g(of.g), slice(of_slice) {
    const ChunkSlots<chunk> slots{g.inputs};
    first = slots.first_slot(of.pair);
    count = slots.count(of.pair);
  }

  __device__ __forceinline__ operand_t* operands(long long number, bool of_queries) const {
    return static_cast<operand_t*>(g.inputs.work[work::operands]) +
           (piece(number) * 2 + (of_queries ? 1 : 0)) * chunk * block_k;
  }
  __device__ __forceinline__ float& edge(long long number, Edge what, int key) const {
    return static_cast<float*>(
        g.inputs.work[work::decays])[(piece(number) * 3 + what) * block_k + key];
  }
  __device__ __forceinline__ float total(long long number, int key) const {
    return decays_exist ? edge(number, total_decay, key) : 1.0f;
  }
  __device__ __forceinline__ float* read(long long number) const {
    return static_cast<float*>(g.inputs.work[work::read]) + piece(number) * chunk * block_k;
  }
  /// Of what was written before chunk `at` and is read in chunk `number`.
  __device__ __forceinline__ float& passing(long long number, long long at, int key) const {
    const ChunkSlots<chunk> slots{g.inputs};
    return static_cast<float*>(
        g.inputs.work[work::passing])[(piece(number) * slots.group() + at) * block_k + key];
  }

 private:
  __device__ __forceinline__ long long piece(long long number) const {
    return (first + number) * slices + slice;
  }
};

/// Loads a piece's operands to a tile [chunk, key_ld].
__device__ __forceinline__ void load_operands(const operand_t* from, operand_t* to) {
  for (int t = warp(); t < chunk; t += warps)
#pragma unroll
    for (int n = 0; n < block_k; n += 32)
      to[t * key_ld + n + lane()] = from[t * block_k + n + lane()];
}

}  // namespace gla_bench::linear_recurrence::backward::chunked
