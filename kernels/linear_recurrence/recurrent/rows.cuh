#pragma once
// recurrent's constants, and how the rows of a step reach it. Raw rows arrive by asynchronous
// copies and are turned into float32. Scalar decays are turned into factors of q, k and the state.

#include "device/async_copy.cuh"
#include "linear_recurrence/recurrent/layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::recurrent {

constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim;
constexpr int block_v = tile::block_v, lanes = tile::lanes, columns = tile::columns;
constexpr int tokens = tile::tokens, stages = tile::stages;
constexpr bool key_gates = trait::decay == key_decay, bonus = trait::before_update != 0;
constexpr bool normalized = trait::normalize != 0;
static_assert(key_gates || !bonus, "the bonus goes with a gate per key");
static_assert(trait::decay == no_decay || !normalized, "a normalizer that decays is not written");
constexpr RecurrentLayout layout{key_dim,   sizeof(io_t), sizeof(gate_t), block_v,
                                 lanes,     columns,      tokens,         stages,
                                 key_gates, scalar_decay, bonus,          normalized};
constexpr int threads = layout.threads, slice = layout.slice, padded_key = layout.padded_key;
constexpr int slices = (value_dim + block_v - 1) / block_v;
constexpr int raw_part = tokens * layout.key_pitch, part = tokens * padded_key;

/// One stage's raw rows: q and k [tokens, key_pitch], gates per key [tokens, gate_pitch], v
/// [tokens, block_v].
struct Raw {
  unsigned char* base;

  __device__ __forceinline__ io_t* keys() const { return reinterpret_cast<io_t*>(base); }
  __device__ __forceinline__ gate_t* gates() const {
    return reinterpret_cast<gate_t*>(base + layout.raw_gates);
  }
  __device__ __forceinline__ io_t* values() const {
    return reinterpret_cast<io_t*>(base + layout.raw_values);
  }
};

/// One sequence's rows. v and o start at the first column of the slice.
struct Block {
  const io_t *q, *k, *v;
  const gate_t* g;
  io_t* o;
  long long key_stride, value_stride, gate_stride, output_stride, seq;
  int width;  // valid columns of the slice
  float scale;
};

/// Issues the copies of one stage's raw rows.
__device__ inline void issue(const Block& block, const Raw& raw, long long t) {
  const int rows = static_cast<int>(min(static_cast<long long>(tokens), block.seq - t));
  device::copy_rows_async<threads, tokens, key_dim, layout.key_pitch, key_alignment>(
      raw.keys(), block.q + t * block.key_stride, block.key_stride, rows, key_dim);
  device::copy_rows_async<threads, tokens, key_dim, layout.key_pitch, key_alignment>(
      raw.keys() + raw_part, block.k + t * block.key_stride, block.key_stride, rows, key_dim);
  if constexpr (key_gates)
    device::copy_rows_async<threads, tokens, key_dim, layout.gate_pitch, key_dim>(
        raw.gates(), block.g + t * block.gate_stride, block.gate_stride, rows, key_dim);
  device::copy_rows_async<threads, tokens, block_v, block_v, value_alignment>(
      raw.values(), block.v + t * block.value_stride, block.value_stride, rows, block.width);
}

/// Keeps scalar decays out of the state. Let c be the sum of the gates since the state was last
/// scaled. q takes e^c and k takes e^-c. Only where c falls below -1, the state takes e^c and c
/// starts from zero again. e^-c therefore never grows large, and a reset is the factor zero. A
/// decay that is equal for every token is rounded once per nat instead of once per token. The first
/// warp does this, with a lane per token. Sums are in double, because in float32 tiny equal gates
/// would add up to the error that this avoids.
struct TokenDecays {
  const gate_t* gates;  // null: `constant` for every token
  float constant;
  gate_t pending;  // the gate of this lane's token as loaded, one step before it is used
  bool live = false;
  double sum = 0.0;

  __device__ inline void load(const Block& block, long long t) {
    const long long at = t + threadIdx.x;
    live = threadIdx.x < tokens && at < block.seq;
    if (live && gates != nullptr) pending = gates[at * block.gate_stride];
  }

  /// Writes factors: [q, k, state][tokens].
  __device__ inline void form(float* factors) {
    const float gate = !live              ? 0.0f
                       : gates == nullptr ? constant
                                          : log_decay(device::to_float(pending));
    double mine = 0.0;
    float state = 1.0f;
#pragma unroll
    for (int i = 0; i < tokens; ++i) {
      sum += static_cast<double>(__shfl_sync(0xffffffffu, gate, i));
      const bool far = !(sum >= -1.0);
      if (i == static_cast<int>(threadIdx.x)) {
        mine = far ? 0.0 : sum;
        if (far) state = device::exp2_fast(static_cast<float>(sum) * device::log2_e);
      }
      if (far) sum = 0.0;
    }
    if (threadIdx.x < tokens) {
      const float exponent = static_cast<float>(mine * static_cast<double>(device::log2_e));
      factors[threadIdx.x] = device::exp2_fast(exponent);
      factors[tokens + threadIdx.x] = device::exp2_fast(-exponent);
      factors[2 * tokens + threadIdx.x] = state;
    }
  }
};

/// Converts four keys of a row to float32 and returns their share of the token's own score. Rows
/// beyond the sequence and padding dimensions must leave the state alone: q = k = 0, e^g = 1.
__device__ inline float convert(const Block& block, const Raw& raw, float* ready,
                                const float* factors, const float* u, int row, int col, bool live) {
  const io_t* source = raw.keys() + row * layout.key_pitch + col;
  const gate_t* gates = raw.gates() + row * layout.gate_pitch + col;
  float of_q = block.scale, of_k = 1.0f, own = 0.0f;
  if constexpr (scalar_decay) {
    of_q *= factors[row];
    of_k = factors[tokens + row];
  }
  float q[4], k[4], e[4];
#pragma unroll
  for (int x = 0; x < 4; ++x) {
    const bool valid = live && col + x < key_dim;
    q[x] = valid ? feature(device::to_float(source[x])) * of_q : 0.0f;
    k[x] = valid ? feature(device::to_float(source[raw_part + x])) * of_k : 0.0f;
    if constexpr (key_gates)
      e[x] = valid ? device::single_decay(log_decay(device::to_float(gates[x]))) : 1.0f;
    if constexpr (bonus) own = fmaf(q[x] * k[x], u[col + x], own);
  }
  float* target = ready + row * padded_key + col;
  *reinterpret_cast<float4*>(target) = make_float4(q[0], q[1], q[2], q[3]);
  *reinterpret_cast<float4*>(target + part) = make_float4(k[0], k[1], k[2], k[3]);
  if constexpr (key_gates)
    *reinterpret_cast<float4*>(target + 2 * part) = make_float4(e[0], e[1], e[2], e[3]);
  return own;
}

/// Converts raw rows to float32: scaled q, k, e^g [tokens, padded_key] and v [tokens, block_v].
/// With a bonus u [padded_key] also forms the tokens' own scores, with a warp per row.
__device__ inline void prepare(const Block& block, const Raw& raw, float* ready,
                               const float* factors, const float* u, float* own, long long t) {
  constexpr int quads = padded_key / 4;
  if constexpr (bonus) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x) / 32; row < tokens; row += threads / 32) {
      float sum = 0.0f;
#pragma unroll 1
      for (int quad = lane; quad < quads; quad += 32)
        sum += convert(block, raw, ready, factors, u, row, quad * 4, t + row < block.seq);
#pragma unroll
      for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
      if (lane == 0) own[row] = sum;
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < tokens * quads; i += threads) {
      const int row = i / quads;
      convert(block, raw, ready, factors, u, row, i % quads * 4, t + row < block.seq);
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < tokens * block_v; i += threads)
    ready[layout.key_parts * part + i] = device::to_float(raw.values()[i]);
}

}  // namespace gla_bench::linear_recurrence::recurrent
