#pragma once
// recurrent's arithmetic: a thread's part of the state, its sums over the lanes, and the
// normalizer.

#include "linear_recurrence/recurrent/rows.cuh"

namespace gla_bench::linear_recurrence::recurrent {

// Tokens whose sums over the lanes are taken together. Reading the state before its update keeps
// more of it alive in registers, so there are fewer of them in that case.
constexpr int most_step = bonus ? 4 : 8, step = lanes < most_step ? lanes : most_step;
// Blocks per multiprocessor for which the state's size leaves registers.
constexpr int registers = (slice + step) * columns + (bonus ? 160 : 96);
constexpr int resident = registers * threads < 65536 ? 65536 / (threads * registers) : 1;

/// The state of this thread: `columns` columns of its slice of keys.
struct State {
  float at[slice / 4][4][columns];
};

/// Takes one token: updates the state and adds this slice's part of the outputs. `sum` starts from
/// what the token itself adds.
__device__ inline void advance(State& state, const float* row, const float (&v)[columns], int lane,
                               float (&sum)[columns]) {
#pragma unroll
  for (int j = 0; j < slice / 4; ++j) {
    const int col = (j * lanes + lane) * 4;
    const float4 q4 = *reinterpret_cast<const float4*>(row + col);
    const float4 k4 = *reinterpret_cast<const float4*>(row + part + col);
    const float q[4] = {q4.x, q4.y, q4.z, q4.w}, k[4] = {k4.x, k4.y, k4.z, k4.w};
    float e[4] = {};
    if constexpr (key_gates) {
      const float4 e4 = *reinterpret_cast<const float4*>(row + 2 * part + col);
      e[0] = e4.x, e[1] = e4.y, e[2] = e4.z, e[3] = e4.w;
    }
    const auto read = [&] {
#pragma unroll
      for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int c = 0; c < columns; ++c) sum[c] = fmaf(q[x], state.at[j][x][c], sum[c]);
    };
    if constexpr (bonus) read();
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        float& s = state.at[j][x][c];
        if constexpr (key_gates)
          s = fmaf(s, e[x], k[x] * v[c]);
        else
          s = fmaf(k[x], v[c], s);
      }
    if constexpr (!bonus) read();
  }
}

/// Sums over `width` lanes. sum[0] of a lane then holds the sum of row lane % count.
template <int count, int width, int each>
__device__ inline void exchange(float (&sum)[count][each], int lane) {
#pragma unroll
  for (int half = count / 2; half > 0; half /= 2) {
    const bool upper = lane & half;
#pragma unroll
    for (int r = 0; r < half; ++r)
#pragma unroll
      for (int c = 0; c < each; ++c) {
        const float send = upper ? sum[r][c] : sum[r + half][c];
        const float keep = upper ? sum[r + half][c] : sum[r][c];
        sum[r][c] = keep + __shfl_xor_sync(0xffffffffu, send, half);
      }
  }
#pragma unroll
  for (int other = count; other < width; other *= 2)
#pragma unroll
    for (int c = 0; c < each; ++c) sum[0][c] += __shfl_xor_sync(0xffffffffu, sum[0][c], other);
}

__device__ inline void scale_state(State& state, float by) {
#pragma unroll
  for (int j = 0; j < slice / 4; ++j)
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
      for (int c = 0; c < columns; ++c) state.at[j][x][c] *= by;
}

/// Takes the tokens of one step, in groups whose sums are exchanged together. state_factors and own
/// belong to the step's tokens: the factors of scalar decays and the scores of bonuses.
__device__ inline void compute(State& state, const float* ready, const float* state_factors,
                               const float* own, float* output, int rows) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int column = static_cast<int>(threadIdx.x) / lanes * columns;
  const float* values = ready + layout.key_parts * part;
  for (int first = 0; first < rows; first += step) {
    float sum[step][columns];
#pragma unroll
    for (int r = 0; r < step; ++r) {
      if constexpr (scalar_decay) {
        const float by = state_factors[first + r];  // the same for the whole block: no divergence
        if (by != 1.0f) scale_state(state, by);
      }
      float v[columns];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        v[c] = values[(first + r) * block_v + column + c];
        sum[r][c] = 0.0f;
        if constexpr (bonus) sum[r][c] = lane == 0 ? own[first + r] * v[c] : 0.0f;
      }
      advance(state, ready + (first + r) * padded_key, v, lane, sum[r]);
    }
    exchange<step, lanes>(sum, lane);
    if (lane < step)
#pragma unroll
      for (int c = 0; c < columns; ++c)
        output[(first + lane) * layout.output_pitch + column + c] = sum[0][c];
  }
}

/// z, the sum of the keys. A thread has every `threads`-th key.
struct Normalizer {
  static constexpr int each = (padded_key + threads - 1) / threads;
  float z[each];

  /// Calls act(z of a key, key) for the keys that this thread owns and that exist in the problem.
  template <class Act>
  __device__ inline void for_each(Act act) {
#pragma unroll
    for (int n = 0; n < each; ++n) {
      const int key = static_cast<int>(threadIdx.x) + n * threads;
      if (key < key_dim) act(z[n], key);
    }
  }

  /// Adds a step's keys. Each warp's share of q z goes to sums [warps, tokens].
  __device__ inline void add(const float* ready, float* sums) {
    float dot[tokens][1];
#pragma unroll
    for (int row = 0; row < tokens; ++row) {
      dot[row][0] = 0.0f;
      for_each([&](float& sum, int key) {
        sum += ready[part + row * padded_key + key];
        dot[row][0] = fmaf(ready[row * padded_key + key], sum, dot[row][0]);
      });
    }
    const int lane = static_cast<int>(threadIdx.x) % 32;
    exchange<tokens, 32>(dot, lane);
    if (lane < tokens) sums[static_cast<int>(threadIdx.x) / 32 * tokens + lane] = dot[0][0];
  }
};

/// 1 / (s q z + epsilon) of a step's tokens, from the warps' shares. 1 where outputs are stored as
/// they are.
struct OutputFactor {
  const float* sums;
  float epsilon;
  __device__ inline float operator()(int row) const {
    if constexpr (!normalized) return 1.0f;
    float sum = epsilon;
#pragma unroll
    for (int warp = 0; warp < layout.warps; ++warp) sum += sums[warp * tokens + row];
    return 1.0f / sum;
  }
};

/// Calls act(element of the state, its offset in the stored state) for the elements that this
/// thread owns and that exist in the problem.
template <class Act>
__device__ inline void for_each_state(State& state, int first_column, Act act) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int column = first_column + static_cast<int>(threadIdx.x) / lanes * columns;
#pragma unroll
  for (int j = 0; j < slice / 4; ++j)
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      const int key = (j * lanes + lane) * 4 + x;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        if (key < key_dim && column + c < value_dim)
          act(state.at[j][x][c], state_offset(key, column + c));
    }
}

}  // namespace gla_bench::linear_recurrence::recurrent
