#pragma once
// The final state of the fused quadratic form: sum of k e^(suffix to the end) v^T and what is left
// of the initial state. A block owns a chunk of keys and block_v columns, a warp 16 keys; it walks
// the blocks of tokens backwards with the decays of the blocks already passed, and stops when those
// are zero in every dimension.

#include "linear_recurrence/parallel_blocks.cuh"

namespace gla_bench::linear_recurrence::parallel {

struct FinalState {
  static constexpr int threads = layout.state_threads;
  static constexpr int tiles_v = block_v / 8;

  const LinearRecurrenceParams& p;
  const Sequence& s;
  Shared shared;
  int c;  // the chunk of keys

  __device__ __forceinline__ void run() {
    float state[tiles_v][4] = {};
    const long long blocks = (s.tokens + block - 1) / block;
    float* decays = shared.decays();
    for (int k = threadIdx.x; k < chunk; k += threads) decays[k] = 1.0f;
    bool alive = true;
    load_step(blocks - 1);
    for (long long j = blocks - 1; j >= 0; --j) {
      const int stage = static_cast<int>(j % 2);
      device::wait_copies<0>();
      if (!__syncthreads_or(alive)) break;
      load_step(j - 1);
      Gates::sum<threads>(shared.gates_of(stage), shared.sums());
      __syncthreads();
      Gates::template suffixed<Ops, threads>(shared.keys_of(stage), shared.gates_of(stage),
                                             shared.sums(), decays, shared.operand(0));
      __syncthreads();
      alive = extend_decays<threads>(shared, decays);
      multiply(state, stage);
    }
    device::wait_copies<0>();
    __syncthreads();
    store(state);
  }

 private:
  __device__ __forceinline__ void load_step(long long j) const {
    if (j >= 0) {
      const int stage = static_cast<int>(j % 2);
      load_keys<threads>(shared.keys_of(stage), s.k, s, j, c);
      load_keys<threads>(shared.gates_of(stage), s.g, s, j, c);
      load_values<threads>(shared.values_of(stage), s, j);
    }
    device::commit_copies();
  }

  /// state += (keys in hand)^T v.
  __device__ __forceinline__ void multiply(float (&state)[tiles_v][4], int stage) const {
#pragma unroll 2
    for (int step = 0; step < block; step += Ops::depth) {
      const typename Ops::A a =
          Ops::load_columns(shared.operand(0) + step * key_ld + warp_row(), key_ld);
#pragma unroll
      for (int n = 0; n < tiles_v; n += 2) {
        typename Ops::B b[2];
        Ops::load_raw_columns(b, shared.values_of(stage) + step * value_ld + n * 8, value_ld);
        Ops::multiply(state[n], a, b[0]);
        Ops::multiply(state[n + 1], a, b[1]);
      }
    }
  }

  /// Adds the initial state and writes.
  __device__ __forceinline__ void store(const float (&state)[tiles_v][4]) const {
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < tiles_v; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int k = row + x / 2 * 8, key = c * chunk + k, v = s.first_v + 8 * n + column + x % 2;
        if (key >= key_dim || v >= value_dim) continue;
        const long long at = s.matrix + static_cast<long long>(key) * value_dim + v;
        float sum = state[n][x];
        if (p.initial_state != nullptr) sum = fmaf(shared.decays()[k], p.initial_state[at], sum);
        p.final_state[at] = sum;
      }
  }
};

}  // namespace gla_bench::linear_recurrence::parallel
