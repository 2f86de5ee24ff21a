#pragma once
// The tables of a chunk that chunk_sm90's state needs; each thread fills in one key. One holds the
// factors that take the state from where the last chunk left it into this chunk's frame. Another
// holds the decay that is left to apply after this chunk.

#include "linear_recurrence/sm90/frames.cuh"
#include "linear_recurrence/sm90/keys.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Rows of the table of sums. Each row belongs to one warp, which has two neighbouring parts or
/// one.
inline constexpr int sum_rows = KeyGroup::lanes == 16 ? layout.blocks / 2 : layout.blocks;

/// Shared address of an entry in the table of sums.
__device__ __forceinline__ unsigned sums_at(const Block& block, int row, int key) {
  return block.scratch() + layout.sums + 4 * (row * layout.keys + key);
}

class StateTables {
 public:
  __device__ __forceinline__ StateTables(const Block& block, int key) : block_(block), key_(key) {}

  /// What the halves of the chunk decay by. All threads add in the same order.
  struct Halves {
    float first = 0.0f, second = 0.0f, all;
  };
  __device__ __forceinline__ Halves add_halves() const {
    float of[sum_rows];
#pragma unroll
    for (int row = 0; row < sum_rows; ++row) of[row] = load_float(sums_at(block_, row, key_));
    Halves halves;
#pragma unroll
    for (int row = 0; row < sum_rows / 2; ++row) {
      halves.first += of[row];
      halves.second += of[sum_rows / 2 + row];
    }
    halves.all = halves.first;
#pragma unroll
    for (int row = sum_rows / 2; row < sum_rows; ++row) halves.all += of[row];
    return halves;
  }
  /// `after`: log2 of the decay that the state still has to undergo after the previous chunk; on
  /// return, after this one.
  __device__ __forceinline__ void write(const Stage& stage, int c, bool strong,
                                        float& after) const {
    const Halves halves = add_halves();
    float frame = after, until;  // the chunk decays by until + after
    if (strong) {
      const int end = rounded(halves.all);
      until = number(end);
      after = halves.all - until;
      store_float(at(stage, layout.before_update), power(end));
    } else {
      frame += halves.first;
      until = frame;
      after = halves.second;
    }
    store_float(at(stage, layout.factor), device::exp2_fast(frame));
    store_float(at(stage, layout.after_update), on_chip ? device::exp2_fast(after) : after);
    if (block_.between()) store_float(block_.decays(c) + 4 * key_, until + after);
    if (key_ == 0) store_shared(stage.begin + layout.strong, strong ? 1 : 0);
  }

 private:
  __device__ __forceinline__ unsigned at(const Stage& stage, int table) const {
    return stage.begin + table + 4 * key_;
  }

  const Block& block_;
  int key_;
};

}  // namespace gla_bench::linear_recurrence::sm90
