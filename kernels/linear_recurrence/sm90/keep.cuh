#pragma once
// How chunk_sm90, as the forward of training, keeps the state before each chunk for the backward
// (backward/sm90/), in bfloat16.
//
// The backward takes a state as operands A [keys, V] of products, in blocks of 16 keys by 16
// columns of V, of which each lane of a warp has eight elements. A warp here holds S^T, whose
// blocks of the same elements are those operands transposed. So it transposes each block's four
// matrices of 8 x 8 between its lanes, and stores 512 bytes at once. Where two blocks share the
// keys, each keeps the rows of its own.

#include "linear_recurrence/sm90/kept.h"
#include "linear_recurrence/sm90/tile.cuh"

namespace gla_bench::linear_recurrence::sm90 {

static_assert(!keeps_states || (cluster <= 2 && trait::ragged == 0));

/// A matrix of 8 x 8 two-byte elements, transposed. Lane l has two neighbours of row l / 4.
__device__ __forceinline__ unsigned transposed(unsigned pair) {
  unsigned result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

class KeptStates {
 public:
  __device__ __forceinline__ KeptStates(const ChunkSm90Params& p, const Block& block) {
    const long long chunks = (p.base.seq + layout.tokens - 1) / layout.tokens;
    first_ = static_cast<uint4*>(p.base.work[work_kept]) +
             (block.sequence * chunks + block.first_token / layout.tokens) * sizes.blocks * 32 +
             threadIdx.x % 32;
    row_ = cluster > 1 ? block.first_key() / 16 : 0;
  }

  /// Keeps the part of the state before the segment's chunk c that one of the block's tiles has.
  /// `column`: the tile's first column of V. `factor(n)`: what takes keys TileState::key_of(n) and
  /// the one after it out of the frame in which the state is.
  template <class Factor>
  __device__ __forceinline__ void keep(TileState& state, int c, int column, Factor factor) const {
    const int value_block = column / 16 + static_cast<int>(threadIdx.x) % 128 / 32;
    if (value_block >= sizes.value_blocks) return;
    uint4* to = first_ + (1LL * c * sizes.blocks + row_ * sizes.value_blocks + value_block) * 32;
#pragma unroll
    for (int s = 0; s < 4 * TileState::tiles && s < sizes.key_blocks; ++s) {
      if (cluster > 1 && row_ + s >= sizes.key_blocks) return;
      const float2 f[2] = {factor(2 * s), factor(2 * s + 1)};
      unsigned words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        words[i] = transposed(
            pack(f[i / 2].x * state.at(8 * s + 2 * i), f[i / 2].y * state.at(8 * s + 2 * i + 1)));
      to[s * sizes.value_blocks * 32] = {words[0], words[2], words[1], words[3]};
    }
  }

 private:
  /// Where chunk states are among the workspace regions.
  static constexpr int work_kept = segments > 1 && !joined ? 2 : 0;
  static constexpr KeptState sizes{dim::key_dim, dim::value_dim};

  uint4* first_;
  int row_;  ///< of blocks, the block's first
};

}  // namespace gla_bench::linear_recurrence::sm90
