#pragma once
// The state's tables of a chunk in chunk_sm90, a key to a thread: the factors that take the state
// from where the last chunk left it into this one's frame, and what is left behind it.
//
// Where the groups that prepare share chunks of at most 128 keys, the three warps beside the one
// that loads write them: they hear the vote, and the sums of two chunks have places of their own.

#include "linear_recurrence/chunk_sm90_frames.cuh"
#include "linear_recurrence/chunk_sm90_keys.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Rows of the table of sums, a warp's each: of two neighbouring parts, or of one.
inline constexpr int sum_rows = KeyGroup::lanes == 16 ? layout.blocks / 2 : layout.blocks;

/// A chunk's table of sums.
__device__ __forceinline__ unsigned sums_of(const Block& block, int c) {
  return block.scratch() + layout.sums + (layout.table_warps ? c % 2 * layout.sums_bytes : 0);
}

class StateTables {
 public:
  __device__ __forceinline__ StateTables(const Block& block, int key) : block_(block), key_(key) {}

  /// What the chunk's halves decay by. All threads add in the same order.
  struct Halves {
    float first = 0.0f, second = 0.0f, all;
  };
  __device__ __forceinline__ Halves add_halves(unsigned sums) const {
    float of[sum_rows];
#pragma unroll
    for (int row = 0; row < sum_rows; ++row)
      of[row] = load_float(sums + 4 * (row * layout.keys + key_));
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
  /// `after`: log2 of what the state still decays by behind the chunk before, then behind this one.
  __device__ __forceinline__ void write(const Stage& stage, int c, bool strong,
                                        float& after) const {
    const Halves halves = add_halves(sums_of(block_, c));
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

/// The warps beside the one that loads.
class TableWarps {
 public:
  static constexpr bool there = layout.table_warps;
  static constexpr int threads = there ? 96 : 0;

  __device__ __forceinline__ explicit TableWarps(const Block& block)
      : block_(block), thread_(static_cast<int>(threadIdx.x) - 32) {}

  __device__ __forceinline__ void run() const {
    float after[most] = {};
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      const bool strong = hear();
#pragma unroll
      for (int i = 0; i < most; ++i)
        if (const int key = thread_ + i * threads; key < layout.keys)
          StateTables(block_, key).write(stage, c, strong, after[i]);
      barrier_arrive(stage.ready());
    }
  }

 private:
  static constexpr int most = there ? (layout.keys + 95) / 96 : 1;  ///< keys of a thread

  /// The vote on a chunk: its second round is held where the first is for strong.
  static __device__ __forceinline__ bool hear() {
    constexpr int voters = preparing_threads + threads;
    return named_barrier_or<voters>(voting_barrier(), false) &&
           named_barrier_or<voters>(voting_barrier(), false);
  }

  const Block& block_;
  int thread_;
};

}  // namespace gla_bench::linear_recurrence::sm90
