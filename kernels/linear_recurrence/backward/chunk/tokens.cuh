#pragma once
// The tokens of a chunk as the backward's chunk kernels have them. A thread owns 16 consecutive
// tokens (a block of the chunk) and one key, with q, k and decays in registers. A warp owns the
// same tokens and 32 neighbouring keys.
//
// Decays are only ever multiplied, never divided by, and no factor is above 1: so a reset is the
// factor 0, and nothing overflows.

#include "device/products.cuh"
#include "linear_recurrence/backward/chunk/layout.h"
#include "linear_recurrence/backward/rows.cuh"
#include "linear_recurrence/backward/sums.cuh"
#include "linear_recurrence/chunk/ranges.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

/// How products are formed. With a normalizer, a query's gradient is the difference of what the
/// numerators and what the denominator give it, of which bfloat16 would leave too few digits.
using Ops = device::Choice<normalized, device::Tf32Products<tile::terms>,
                           device::Products<io_t, tile::terms, keys>>::type;
using operand_t = Ops::element;
/// How do v^T is formed. All keys of a token share its elements, whose rounding errors thus do not
/// average out, and those of few tokens may be near zero. Products of 16-bit inputs are exact.
using ChangeOps = device::Choice<(normalized || device::is_same<io_t, float>),
                                 device::Tf32Products<3>, Ops>::type;
constexpr int chunk = tile::chunk, block_k = tile::block_k, panel = tile::panel;
constexpr ChunkGradientLayout layout{keys,    width, sizeof(operand_t),   chunk,
                                     block_k, panel, launch::kept_change, launch::meets_others};
constexpr int blocks = layout.blocks, groups = layout.groups, warps = layout.warps;
constexpr int threads = layout.threads, key_ld = layout.key_ld, panel_ld = layout.panel_ld;
static_assert(layout.slices == slices && layout.shared_bytes == launch::shared_bytes);

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ int warp() {
  return static_cast<int>(threadIdx.x) / 32;
}
/// The 16 tokens and the 32 keys of this warp.
__device__ __forceinline__ int block_of_warp() {
  return warp() / groups;
}
__device__ __forceinline__ int group_of_warp() {
  return warp() % groups;
}
/// This thread's key in its slice.
__device__ __forceinline__ int own_key() {
  return 32 * group_of_warp() + lane();
}
/// This lane's row and first column in an accumulator tile of 16 x 8.
__device__ __forceinline__ int tile_row() {
  return lane() / 4;
}
__device__ __forceinline__ int tile_column() {
  return lane() % 4 * 2;
}

/// A chunk of a sequence and head, a slice of K and the block's shared memory.
struct Chunk {
  const Sequence& of;
  int slice;
  long long first;  ///< token of the sequence
  int tokens;
  unsigned char* shared;

  __device__ __forceinline__ float* floats(int at) const {
    return reinterpret_cast<float*>(shared + at);
  }
  __device__ __forceinline__ operand_t* operands(int at) const {
    return reinterpret_cast<operand_t*>(shared + at);
  }
  __device__ __forceinline__ int key_of(int n) const { return slice * block_k + n; }
  /// The product of the decays of one block of 16 tokens, for a key of the slice.
  __device__ __forceinline__ float& total(int block, int key) const {
    return floats(layout.totals)[block * block_k + key];
  }
  /// The product of the decays of the whole chunk. After a barrier behind load().
  __device__ __forceinline__ float whole(int key) const {
    float product = 1.0f;
#pragma unroll
    for (int b = 0; b < blocks; ++b) product *= total(b, key);
    return product;
  }
};

/// A thread's tokens. Those that do not exist, and keys that do not, have q = k = 0 and decay 1.
struct Column {
  float q[16], k[16], e[16];

  __device__ __forceinline__ void load(const Chunk& at) {
    const int key = at.key_of(own_key());
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      const int token = 16 * block_of_warp() + t;
      const bool valid = token < at.tokens && key < keys;
      q[t] = valid ? at.of.query(at.first + token, key) : 0.0f;
      k[t] = valid ? at.of.key(at.first + token, key) : 0.0f;
      e[t] = valid ? at.of.decay(at.first + token, key) : 1.0f;
    }
  }

  /// Decays from the start of the block up to what token t reads, and behind token t to its end.
  __device__ __forceinline__ void prefix(float (&x)[16]) const {
    float product = 1.0f;
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      if constexpr (!bonus) product *= e[t];
      x[t] = product;
      if constexpr (bonus) product *= e[t];
    }
  }
  __device__ __forceinline__ void suffix(float (&x)[16]) const {
    float product = 1.0f;
#pragma unroll
    for (int t = 15; t >= 0; --t) {
      x[t] = product;
      product *= e[t];
    }
  }
  __device__ __forceinline__ void store_total(const Chunk& at) const {
    float product = 1.0f;
#pragma unroll
    for (int t = 0; t < 16; ++t) product *= e[t];
    at.total(block_of_warp(), own_key()) = product;
  }

  /// The decayed tokens of the whole chunk: k with all decays behind it, and q with all decays
  /// up to what it reads, times a factor. After a barrier behind store_total().
  __device__ __forceinline__ void suffixed(const Chunk& at, float (&x)[16]) const {
    float behind = 1.0f;
#pragma unroll
    for (int b = blocks - 1; b > 0; --b)
      if (b > block_of_warp()) behind *= at.total(b, own_key());
    suffix(x);
#pragma unroll
    for (int t = 0; t < 16; ++t) x[t] = k[t] * x[t] * behind;
  }
  __device__ __forceinline__ void prefixed(const Chunk& at, float factor, float (&x)[16]) const {
    float before = factor;
#pragma unroll
    for (int b = 0; b < blocks - 1; ++b)
      if (b < block_of_warp()) before *= at.total(b, own_key());
    prefix(x);
#pragma unroll
    for (int t = 0; t < 16; ++t) x[t] = q[t] * x[t] * before;
  }
  /// Writes them as operands, q with the scale or, without decays, with a part of it (SplitScale).
  __device__ __forceinline__ void store_suffixed(const Chunk& at) const {
    float x[16];
    suffixed(at, x);
    store_keys(at.operands(layout.suffixed), x);
  }
  __device__ __forceinline__ void store_prefixed(const Chunk& at) const {
    float x[16];
    prefixed(at, SplitScale(at.of.g.inputs.scale).of_queries, x);
    store_keys(at.operands(layout.prefixed), x);
  }
  /// Writes this thread's tokens and key to a tile [chunk, key_ld] of operands.
  __device__ __forceinline__ static void store_keys(operand_t* tile, const float (&x)[16]) {
    operand_t* to = tile + 16 * block_of_warp() * key_ld + own_key();
#pragma unroll
    for (int t = 0; t < 16; ++t) to[t * key_ld] = Ops::rounded(x[t]);
  }
};

/// Loads columns [first, first + panel) of the chunk's rows of v, or of the gradients of outputs,
/// to [chunk, panel_ld], not rounded to tf32. What does not exist is 0.
template <bool gradients>
__device__ __forceinline__ void load_panel(const Chunk& at, int first, operand_t* to) {
#pragma unroll 8
  for (int m = 0; m < chunk / warps; ++m) {
    const int t = m * warps + warp();
#pragma unroll
    for (int n = 0; n < panel; n += 32) {
      const int column = first + n + lane();
      float x = 0.0f;
      if (t < at.tokens && column < width)
        x = gradients ? at.of.output_gradient(at.first + t, column)
                      : at.of.value(at.first + t, column);
      to[t * panel_ld + n + lane()] = device::from_float<operand_t>(x);
    }
  }
}

/// The sum over tokens of keys [chunk, key_ld] times columns [chunk, panel_ld], which is a part of
/// a state: act(key of the slice, column of the panel, sum).
template <class Act>
__device__ __forceinline__ void outer_product(const operand_t* of_keys, const operand_t* of_columns,
                                              Act act) {
  constexpr int units = block_k / 16 * (panel / 32);
  for (int unit = warp(); unit < units; unit += warps) {
    const int row = unit % (block_k / 16) * 16, column = unit / (block_k / 16) * 32;
    float sum[4][4] = {};
#pragma unroll 2
    for (int t = 0; t < chunk; t += Ops::depth) {
      const Ops::A a = Ops::load_columns(of_keys + t * key_ld + row, key_ld);
#pragma unroll
      for (int n = 0; n < 4; n += 2) {
        Ops::B b[2];
        Ops::load_raw_columns(b, of_columns + t * panel_ld + column + 8 * n, panel_ld);
        Ops::multiply(sum[n], a, b[0]);
        Ops::multiply(sum[n + 1], a, b[1]);
      }
    }
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x)
        act(row + tile_row() + x / 2 * 8, column + 8 * n + tile_column() + x % 2, sum[n][x]);
  }
}

}  // namespace gla_bench::linear_recurrence::backward::chunked
