#pragma once
// decode: a few tokens (1 to 8, typically 1) against a large state. The state is read once, updated
// and written once, in place or not. The time is the state's bytes divided by the memory's speed.
//
// Idea: a block owns block_v columns of one sequence and head's state, for all keys. The sums over
// K then end inside the block, without atomics and without a second kernel. Each thread holds
// `elements` of the state in registers. Some of the warps first issue their loads of q, k and gate,
// others those of v. Then every thread issues all its loads of the state, by vectors of up to 16
// bytes, and only then waits. A multiprocessor has its whole share of the state in flight some
// dozens of instructions after a block's start. q, k, e^g and v pass through shared memory as
// float32 and are computed once per block.
//
// The state leaves as soon as it is updated, to lines that the L2 cache gives up last. Of a large
// state, 40 MB are then not written to device memory while others are read, instead of 28 MB. The
// sums over the keys follow. They are added up in the thread, then by halving exchanges in the
// warp, then over the warps through shared memory.
//
// Layouts: with the state key first a thread's vector lies along V (row j is key j * groups +
// group). With the state value first it lies along K. Every block computes the denominator of a
// normalized output from the whole z. If z is updated in place, no other block may write it first,
// so one block then walks over all columns.
//
// Grid: x is the head and the slice of V, slices fastest; y is the sequence. No division delays the
// first load.
//
// Shared memory: layout.h.
//
// Bytes: states, v and o once; q, k, gates and z once per slice. Neighbouring blocks share the
// latter through the L2 cache.

#include "linear_recurrence/decode/rows.cuh"
#include "linear_recurrence/decode/state.cuh"

namespace gla_bench::linear_recurrence::decode {

/// Adds the staged tokens to z of every key, and computes each warp's part of their denominators.
__device__ inline void add_normalizer(const Shared& shared, int tokens) {
  const int thread = static_cast<int>(threadIdx.x);
  float part[decode_tokens] = {};
  for (int key = thread; key < key_dim; key += threads) {
    float z = shared.normalizer[key];
#pragma unroll
    for (int t = 0; t < decode_tokens; ++t) {
      if (t >= tokens) break;
      const float* token = shared.keys + t * 4 * padded_keys;
      z += value_first ? token[padded_keys + key] : token[4 * key + 1];
      part[t] = fmaf(value_first ? token[key] : token[4 * key], z, part[t]);
    }
    shared.normalizer[key] = z;
  }
#pragma unroll
  for (int t = 0; t < decode_tokens; ++t) {
    if (t >= tokens) break;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      part[t] += __shfl_xor_sync(0xffffffffu, part[t], distance);
    if (thread % 32 == 0) shared.denominators[thread / 32 * pitch + t] = part[t];
  }
}

__device__ inline void load_normalizer(const Block& block, const Shared& shared) {
  const float* from = block.p.initial_normalizer;
  for (int key = static_cast<int>(threadIdx.x); key < key_dim; key += threads)
    shared.normalizer[key] =
        from == nullptr ? 0.0f : from[static_cast<long long>(block.pair) * key_dim + key];
}

__device__ inline void store_normalizer(const Block& block, const Shared& shared) {
  if (block.p.final_normalizer == nullptr) return;
  for (int key = static_cast<int>(threadIdx.x); key < key_dim; key += threads)
    block.p.final_normalizer[static_cast<long long>(block.pair) * key_dim + key] =
        shared.normalizer[key];
}

__device__ inline void store_outputs(const Block& block, const Shared& shared, long long first,
                                     int tokens) {
#pragma unroll 1
  for (int turn = 0; turn < (pitch * block_v + threads - 1) / threads; ++turn) {
    const int i = turn * threads + static_cast<int>(threadIdx.x);
    const auto [t, column] = Item<block_v>(i);
    if (t >= tokens || column >= block.width) continue;
    float sum = 0.0f;
    for (int slot = 0; slot < layout.slots; ++slot)
      sum += shared.partial[(slot * pitch + t) * padded_values + column];
    if constexpr (normalize) {
      float denominator = 0.0f;
      for (int warp = 0; warp < threads / 32; ++warp)
        denominator += shared.denominators[warp * pitch + t];
      sum /= denominator + block.p.epsilon;
    }
    const LinearRecurrenceParams& p = block.p;
    static_cast<io_t*>(p.o)[block.at(output_strides(p), first + t) + block.first_column + column] =
        device::from_float<io_t>(sum);
  }
}

/// Takes the staged tokens through this thread's part of the state. The state is stored after the
/// `last`.
__device__ inline void compute(const Block& block, const Shared& shared, State& state, int tokens,
                               bool last) {
  const int slot = value_first ? 0 : static_cast<int>(threadIdx.x / layout.unit);
#pragma unroll 1
  for (int t = 0; t < tokens; ++t) {
    float sum[sums];
    advance(state, shared.keys + t * 4 * padded_keys, shared.values + t * padded_values, sum);
    if (last && t == tokens - 1) store_state(block, state);
    reduce(sum, shared.partial + (slot * pitch + t) * padded_values);
  }
  if (last && tokens < 1) store_state(block, state);
}

/// Takes all tokens of a sequence through one slice of its state. `last`: no other slice of this
/// (sequence, head) pair follows, so z may be written.
__device__ inline void run_slice(const Block& block, const Shared& shared, bool last) {
  const auto tokens_from = [&](long long first) {
    if constexpr (trait::ragged != 0) {
      const long long left = block.span.tokens - first;
      return static_cast<int>(left < pitch ? left : pitch);
    } else {
      return pitch;
    }
  };
  const Ahead ahead = fetch(block, 0, tokens_from(0));
  RawState raw;
  load_state(block, raw);
  if constexpr (normalize) load_normalizer(block, shared);
  stage(block, shared, 0, tokens_from(0), ahead);
  __syncthreads();
  State state;
  widen(raw, state);
  for (long long first = 0;; first += pitch) {
    const int tokens = tokens_from(first);
    const bool done = trait::ragged == 0 || first + pitch >= block.span.tokens;
    compute(block, shared, state, tokens, done);
    if constexpr (normalize) add_normalizer(shared, tokens);
    __syncthreads();
    store_outputs(block, shared, first, tokens);
    if (done) break;
    const int next = tokens_from(first + pitch);
    stage(block, shared, first + pitch, next, fetch(block, first + pitch, next));
    __syncthreads();
  }
  if constexpr (normalize)
    if (last) store_normalizer(block, shared);
}

__device__ inline void run(const LinearRecurrenceParams& p, unsigned char* memory) {
  constexpr int walked = decode_form::slices_per_block;
  constexpr int blocks = (slices + walked - 1) / walked;  // of a sequence and head
  const Shared shared(memory);
  const unsigned n = blockIdx.y, h = blockIdx.x / blocks;
  // 31 bits are enough to number all blocks.
  const unsigned pair = (n * gridDim.x + blockIdx.x) / blocks;
  const Span span = span_of(p, n);
  for (int i = 0; i < walked; ++i) {
    const int slice = static_cast<int>(blockIdx.x % blocks) * walked + i;
    if (slice >= slices) break;
    const int column = slice * block_v;
    const Block block{p,      trait::ragged != 0 ? 0 : n,      h, pair, span,
                      column, min(block_v, value_dim - column)};
    // z may be updated in place. Only the last slice of the walk writes it, or of several blocks
    // the first.
    run_slice(block, shared, walked > 1 ? slice == slices - 1 : slice == 0);
    if (walked > 1) __syncthreads();  // shared memory is free again
  }
}

}  // namespace gla_bench::linear_recurrence::decode

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::decode::threads,
                                             gla_bench::linear_recurrence::decode::resident)
    decode(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  extern __shared__ __align__(16) unsigned char shared[];
  gla_bench::linear_recurrence::decode::run(p, shared);
}
