#pragma once
// The final state of the fused quadratic form: the sum of k e^(suffix to the end) v^T, and what is
// left of the initial state. A block owns a chunk of keys and block_v columns, and a warp owns 16
// keys. The block walks the blocks of tokens backwards. It carries the decays of the blocks already
// passed, and stops when these are zero in every dimension.

#include "linear_recurrence/quadratic/scalar.cuh"

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
    if constexpr (key_gates)
      for (int k = threadIdx.x; k < chunk; k += threads) shared.decays()[k] = 1.0f;
    ScalarGates gates(s, shared);
    if constexpr (scalar_decay) {
      gates.load(blocks - 1);
      if (blocks > 0) gates.form_factors(static_cast<int>((blocks - 1) % 2), s.rows(blocks - 1));
      gates.load(blocks - 2);
    }
    bool alive = true;
    float decay = 1.0f, sum = 0.0f;
    load_step(blocks - 1);
    for (long long j = blocks - 1; j >= 0; --j) {
      device::wait_copies<0>();
      if (!__syncthreads_or(alive)) break;
      load_step(j - 1);
      if constexpr (key_gates) {
        alive = form_decayed(j);
      } else {
        form_plain(gates, j, decay);
        alive = !scalar_decay || decay != 0.0f;
        if constexpr (normalized) sum += sum_keys(j);
      }
      multiply(state, static_cast<int>(j % 2));
    }
    device::wait_copies<0>();
    __syncthreads();
    store(state, decay);
    if constexpr (normalized) store_sums(sum);
  }

 private:
  __device__ __forceinline__ void load_step(long long j) const {
    if (j >= 0) {
      const int stage = static_cast<int>(j % 2);
      load_keys<threads>(shared.keys_of(stage), s.k, s, j, c);
      if constexpr (key_gates) load_gates<threads>(shared.gates_of(stage), s, j, c);
      load_values<threads>(shared.values_of(stage), s, j);
    }
    device::commit_copies();
  }

  /// Forms block j's keys with their decay to the sequence's end. Returns true while some decay is
  /// above zero.
  __device__ __forceinline__ bool form_decayed(long long j) const {
    const int stage = static_cast<int>(j % 2);
    if constexpr (trait::raw_gate != 0)
      if (s.rows(j) < block) {  // zeros after the sequence's end would stand for a decay
        gate_t* g = shared.gates_of(stage);
        for (int at = s.rows(j) * key_ld + static_cast<int>(threadIdx.x); at < block * key_ld;
             at += threads)
          g[at] = device::from_float<gate_t>(-__uint_as_float(0x7f800000u));
        __syncthreads();
      }
    Gates::sum<threads>(shared.gates_of(stage), shared.sums());
    __syncthreads();
    Gates::template suffixed<Ops, threads>(shared.keys_of(stage), shared.gates_of(stage),
                                           shared.sums(), shared.decays(), shared.operand(0));
    __syncthreads();
    return extend_decays<threads>(shared, shared.decays(), key_dim - c * chunk);
  }

  /// The same where decays are scalar or there are none. Extends `decay` to the block before.
  __device__ __forceinline__ void form_plain(ScalarGates& gates, long long j, float& decay) const {
    const int stage = static_cast<int>(j % 2);
    if constexpr (scalar_decay) {
      const float* factors = shared.factors(stage);
      form_rows<threads>(shared.keys_of(stage), shared.operand(0), key_ld, s.rows(j),
                         key_dim - c * chunk, [&](int row) { return decay * factors[row]; });
      decay *= factors[block];
      gates.form_factors(1 - stage, block);
      gates.load(j - 2);
    } else {
      form_rows<threads>(shared.keys_of(stage), shared.operand(0), key_ld, s.rows(j),
                         key_dim - c * chunk, [](int) { return 1.0f; });
    }
    __syncthreads();
  }

  /// This thread's half of the rows, added up for one key in float32.
  __device__ __forceinline__ float sum_keys(long long j) const {
    const int k = static_cast<int>(threadIdx.x) % chunk, rows = s.rows(j);
    const io_t* keys = shared.keys_of(static_cast<int>(j % 2)) + k;
    float sum = 0.0f;
    for (int row = static_cast<int>(threadIdx.x) / chunk * (block / 2), n = 0; n < block / 2;
         ++n, ++row)
      if (row < rows) sum += feature(device::to_float(keys[row * key_ld]));
    return sum;
  }

  /// Adds the two halves of each key's sum and the initial normalizer. Only the first slice's
  /// blocks write.
  __device__ __forceinline__ void store_sums(float sum) const {
    float* half = reinterpret_cast<float*>(shared.base);
    const int k = static_cast<int>(threadIdx.x) % chunk, key = c * chunk + k;
    if (static_cast<int>(threadIdx.x) >= chunk) half[k] = sum;
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= chunk || key >= key_dim || s.first_v > 0) return;
    sum += half[k];
    const long long at = s.number * key_dim + key;
    if (p.initial_normalizer != nullptr) sum += p.initial_normalizer[at];
    p.final_normalizer[at] = sum;
  }

  /// state += (keys in shared memory)^T v.
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

  /// Adds the initial state and writes the result. The thread that reads an element also writes it.
  __device__ __forceinline__ void store(const float (&state)[tiles_v][4], float decay) const {
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < tiles_v; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int k = row + x / 2 * 8, key = c * chunk + k, v = s.first_v + 8 * n + column + x % 2;
        if (key >= key_dim || v >= value_dim) continue;
        const long long at = state_offset(key, v);
        float sum = state[n][x];
        if (s.initial != nullptr)
          sum = fmaf(key_gates ? shared.decays()[k] : decay, device::to_float(s.initial[at]), sum);
        s.final[at] = device::from_float<state_t>(sum);
      }
  }
};

}  // namespace gla_bench::linear_recurrence::parallel
