#pragma once
// recurrent: one pass over the tokens, the state in float32 registers, no tensor cores.
//
// A block owns one sequence and block_v columns of its state. A group of `lanes` threads owns
// `columns` of them, each thread a slice of the key dimensions (quads dealt out in turn, so that
// the lanes of a warp read neighbouring 16-byte words). Per token and state element: S = S e^g + k
// v, o += q S. Sums over the lanes are taken for several tokens at once by halving exchanges, which
// leaves each lane with one token's output.
// Tokens come in steps of `tokens`: a step's rows arrive by asynchronous copies `stages` steps
// ahead, are turned into float32 once (q times scale, k, e^g, v), and computed one step later; one
// barrier per step, and no step waits for device memory. Grid: sequences * value slices, slices
// fastest. Shared memory: recurrent_layout.h. Bytes: q, k, g once per slice (neighbouring blocks
// share them through L2), v, o and states once.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/store_rows.cuh"
#include "linear_recurrence/params.h"
#include "linear_recurrence/recurrent_layout.h"

namespace gla_bench::linear_recurrence::recurrent {

constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim;
constexpr int block_v = tile::block_v, lanes = tile::lanes, columns = tile::columns;
constexpr int tokens = tile::tokens, stages = tile::stages;
constexpr int io_bytes = sizeof(io_t);
constexpr RecurrentLayout layout{key_dim, io_bytes, block_v, lanes, columns, tokens, stages};
constexpr int threads = layout.threads, slice = layout.slice, padded_key = layout.padded_key;
constexpr int slices = (value_dim + block_v - 1) / block_v;
constexpr int step = lanes < 8 ? lanes : 8;  // tokens whose sums over the lanes are taken together
// Blocks per multiprocessor that the state's size leaves registers for.
constexpr int resident = 65536 / (threads * ((slice + step) * columns + 96));

struct Block {
  const io_t *q, *k, *g, *v;
  io_t* o;
  long long key_stride, value_stride, seq;
  int width;  // valid columns of the slice
  float scale;
};

/// Raw rows of one stage: q, k, g [tokens, key_pitch], then v [tokens, block_v].
__device__ inline void issue(const Block& block, io_t* raw, long long t) {
  const int rows = static_cast<int>(min(static_cast<long long>(tokens), block.seq - t));
  constexpr int part = tokens * layout.key_pitch;
  const long long key = t * block.key_stride;
  device::copy_rows_async<threads, tokens, key_dim, layout.key_pitch, key_dim>(
      raw, block.q + key, block.key_stride, rows, key_dim);
  device::copy_rows_async<threads, tokens, key_dim, layout.key_pitch, key_dim>(
      raw + part, block.k + key, block.key_stride, rows, key_dim);
  device::copy_rows_async<threads, tokens, key_dim, layout.key_pitch, key_dim>(
      raw + 2 * part, block.g + key, block.key_stride, rows, key_dim);
  device::copy_rows_async<threads, tokens, block_v, block_v, value_dim>(
      raw + 3 * part, block.v + t * block.value_stride, block.value_stride, rows, block.width);
}

/// Raw rows to float32: q scaled, k, e^g [tokens, padded_key] and v [tokens, block_v]. Rows beyond
/// the sequence and padding dimensions leave the state alone: q = k = 0, e^g = 1.
__device__ inline void prepare(const Block& block, const io_t* raw, float* ready, long long t) {
  constexpr int quads = padded_key / 4, raw_part = tokens * layout.key_pitch;
  constexpr int part = tokens * padded_key;
  for (int i = static_cast<int>(threadIdx.x); i < tokens * quads; i += threads) {
    const int row = i / quads, col = i % quads * 4;
    const bool live = t + row < block.seq;
    const io_t* source = raw + row * layout.key_pitch + col;
    float q[4], k[4], e[4];
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      const bool valid = live && col + x < key_dim;
      q[x] = valid ? device::to_float(source[x]) * block.scale : 0.0f;
      k[x] = valid ? device::to_float(source[raw_part + x]) : 0.0f;
      e[x] = valid ? device::single_decay(device::to_float(source[2 * raw_part + x])) : 1.0f;
    }
    float* target = ready + row * padded_key + col;
    *reinterpret_cast<float4*>(target) = make_float4(q[0], q[1], q[2], q[3]);
    *reinterpret_cast<float4*>(target + part) = make_float4(k[0], k[1], k[2], k[3]);
    *reinterpret_cast<float4*>(target + 2 * part) = make_float4(e[0], e[1], e[2], e[3]);
  }
  for (int i = static_cast<int>(threadIdx.x); i < tokens * block_v; i += threads)
    ready[3 * part + i] = device::to_float(raw[3 * raw_part + i]);
}

/// The state of this thread: `columns` columns of its key slice.
struct State {
  float at[slice / 4][4][columns];
};

/// One token: updates the state and adds this slice's part of the outputs.
__device__ inline void advance(State& state, const float* row, const float* value, int lane,
                               float (&sum)[columns]) {
  constexpr int part = tokens * padded_key;
  float v[columns];
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    v[c] = value[c];
    sum[c] = 0.0f;
  }
#pragma unroll
  for (int j = 0; j < slice / 4; ++j) {
    const int col = (j * lanes + lane) * 4;
    const float4 q4 = *reinterpret_cast<const float4*>(row + col);
    const float4 k4 = *reinterpret_cast<const float4*>(row + part + col);
    const float4 e4 = *reinterpret_cast<const float4*>(row + 2 * part + col);
    const float q[4] = {q4.x, q4.y, q4.z, q4.w}, k[4] = {k4.x, k4.y, k4.z, k4.w};
    const float e[4] = {e4.x, e4.y, e4.z, e4.w};
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        float& s = state.at[j][x][c];
        s = fmaf(s, e[x], k[x] * v[c]);
        sum[c] = fmaf(q[x], s, sum[c]);
      }
  }
}

/// Sums over the lanes; the lane then holds the outputs of token lane % step.
__device__ inline void exchange(float (&sum)[step][columns], int lane) {
#pragma unroll
  for (int half = step / 2; half > 0; half /= 2) {
    const bool upper = lane & half;
#pragma unroll
    for (int r = 0; r < half; ++r)
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const float send = upper ? sum[r][c] : sum[r + half][c];
        const float keep = upper ? sum[r + half][c] : sum[r][c];
        sum[r][c] = keep + __shfl_xor_sync(0xffffffffu, send, half);
      }
  }
#pragma unroll
  for (int other = step; other < lanes; other *= 2)
#pragma unroll
    for (int c = 0; c < columns; ++c) sum[0][c] += __shfl_xor_sync(0xffffffffu, sum[0][c], other);
}

/// The tokens of one step, in groups whose sums are exchanged together.
__device__ inline void compute(State& state, const float* ready, float* output, int rows) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int column = static_cast<int>(threadIdx.x) / lanes * columns;
  const float* values = ready + 3 * tokens * padded_key;
  for (int first = 0; first < rows; first += step) {
    float sum[step][columns];
#pragma unroll
    for (int r = 0; r < step; ++r)
      advance(state, ready + (first + r) * padded_key, values + (first + r) * block_v + column,
              lane, sum[r]);
    exchange(sum, lane);
    if (lane < step)
#pragma unroll
      for (int c = 0; c < columns; ++c)
        output[(first + lane) * layout.output_pitch + column + c] = sum[0][c];
  }
}

/// Calls act(element of the state, its offset in [K, V]) for what this thread owns and the problem
/// has.
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
          act(state.at[j][x][c], static_cast<long long>(key) * value_dim + column + c);
    }
}

__device__ inline void run(const LinearRecurrenceParams& p, unsigned char* shared) {
  const long long sequence = blockIdx.x / slices;
  const int first_column = static_cast<int>(blockIdx.x % slices) * block_v;
  const long long b = sequence / p.heads, h = sequence % p.heads;
  const long long key = b * p.key_strides.batch + h * p.key_strides.heads;
  const long long value = b * p.value_strides.batch + h * p.value_strides.heads + first_column;
  const Block block{static_cast<const io_t*>(p.q) + key,
                    static_cast<const io_t*>(p.k) + key,
                    static_cast<const io_t*>(p.g) + key,
                    static_cast<const io_t*>(p.v) + value,
                    static_cast<io_t*>(p.o) + value,
                    p.key_strides.seq,
                    p.value_strides.seq,
                    p.seq,
                    min(block_v, value_dim - first_column),
                    p.scale};
  float* ready = reinterpret_cast<float*>(shared + stages * layout.stage_bytes);
  float* output = ready + 2 * layout.float_words;
  const auto raw = [&](long long n) {
    return reinterpret_cast<io_t*>(shared + n % stages * layout.stage_bytes);
  };
  const long long steps = (p.seq + tokens - 1) / tokens;
  const auto store = [&](long long n) {
    device::store_rows<threads, block_v, value_dim>(
        block.o + n * tokens * block.value_stride, block.value_stride,
        output + n % 2 * layout.output_words, layout.output_pitch,
        static_cast<int>(min(static_cast<long long>(tokens), p.seq - n * tokens)), block.width);
  };

  for (int n = 0; n < stages; ++n) {
    if (n < steps) issue(block, raw(n), static_cast<long long>(n) * tokens);
    device::commit_copies();
  }
  const long long matrix = sequence * key_dim * value_dim;
  State state{};
  if (p.initial_state != nullptr)
    for_each_state(state, first_column,
                   [&](float& s, long long at) { s = p.initial_state[matrix + at]; });
  device::wait_copies<stages - 1>();
  __syncthreads();
  prepare(block, raw(0), ready, 0);

  for (long long n = 0; n < steps; ++n) {
    device::wait_copies<stages - 2>();
    __syncthreads();  // step n is ready, step n + 1 has arrived, the buffers of n - 1 are free
    if (n + stages < steps) issue(block, raw(n), (n + stages) * tokens);
    device::commit_copies();
    if (n > 0) store(n - 1);
    const int rows = static_cast<int>(min(static_cast<long long>(tokens), p.seq - n * tokens));
    compute(state, ready + n % 2 * layout.float_words, output + n % 2 * layout.output_words, rows);
    if (n + 1 < steps)
      prepare(block, raw(n + 1), ready + (n + 1) % 2 * layout.float_words, (n + 1) * tokens);
  }
  __syncthreads();
  store(steps - 1);
  if (p.final_state != nullptr)
    for_each_state(state, first_column,
                   [&](float& s, long long at) { p.final_state[matrix + at] = s; });
}

}  // namespace gla_bench::linear_recurrence::recurrent

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::recurrent::threads,
                                             gla_bench::linear_recurrence::recurrent::resident)
    gla_recurrent(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  extern __shared__ __align__(16) unsigned char shared[];
  gla_bench::linear_recurrence::recurrent::run(p, shared);
}
