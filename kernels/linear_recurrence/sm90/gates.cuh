#pragma once
// The warps of chunk_sm90 that multiply decays per key into a chunk's q and k and form its scores.
//
// A thread has eight tokens of up to eight neighbouring keys (keys.cuh). The eight tokens are one
// "part" of the chunk. With eight keys a thread reads 16 bytes of a row at once, and it forms as
// many independent sums as it has keys. It keeps its gates in registers, so scores and tables can
// take the gates' place in shared memory.

#include "linear_recurrence/sm90/framing.cuh"
#include "linear_recurrence/sm90/strong.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Preparation : private Framing {
 public:
  __device__ __forceinline__ Preparation(const ChunkSm90Params& p, const Block& block)
      : Framing(p, block), p_(p) {}

  template <bool outputs>
  __device__ __forceinline__ void run() {
    // Log2 of the decay that the state still has to undergo after the previous chunk, for one key
    float after = 0.0f;
    KeySums later;  // without outputs: what the later chunks decay by, for this thread's keys
#pragma unroll
    for (float& one : later) one = 0.0f;
    for (int step = first_chunk(); step < block_.chunks; step += every) {
      const int c = outputs ? step : block_.backwards(step);
      const Stage stage = block_.stage(step);
      keys_ = KeyGroup();
      wait_for_tiles(stage, step);
      load_gates(stage, block_.valid(c));
      KeySums sum, other;
      sum_up(sum);
      sum_of_mate(sum, other);
      publish(sum, other);
      // The state left the previous chunk's frame at the end of that chunk.
      if constexpr (on_chip) after = 0.0f;
      bool last = false;
      if constexpr (!outputs) {
        last = prepare_state(stage, c, other, later);
      } else {
        const bool strong = vote(decays_much(sum));
        if (has_key()) StateTables(block_, keys_.thread()).write(stage, c, strong, after);
        if (strong)
          prepare_strong(stage, c, sum, other);
        else
          prepare_mild(stage, c, sum, other);
      }
      publish_shared();
      barrier_arrive(stage.ready());
      if (last) break;
    }
    if constexpr (!outputs) keep(later);
  }

 private:
  static constexpr int threads = preparing_threads;
  /// The number of bits that half a chunk may decay by with one reference. From the middle of one
  /// chunk to the middle of the next the decay is up to twice as many bits, and such a factor is
  /// still a normal number.
  static constexpr float most_of_half = 62.0f;

  /// Masks a score. Scores of later tokens become zero. The score of a token with itself becomes
  /// its bonus, where there is one.
  __device__ __forceinline__ auto masked(const ScoreWarp& warp) const {
    const float first = bonus_.of(warp.row()), second = bonus_.of(warp.row() + 8);
    return [first, second, row = warp.row()](float score, int i, int j) {
      return j < i ? score : j > i ? 0.0f : bonus ? (i == row ? first : second) : score;
    };
  }

  /// Waits for q and k. Clears the rows of k behind the end of a ragged sequence.
  __device__ __forceinline__ void wait_for_rows(const Stage& stage, int c) const {
    barrier_wait(stage.arrived(), stage.parity);
    if constexpr (trait::ragged != 0) clear_missing(stage, block_.valid(c));
  }

  // The two cases are separate functions. Code that jumped over the other case's instructions would
  // wait for them.

  __device__ __forceinline__ void prepare_mild(const Stage& stage, int c, const KeySums& of_part,
                                               const KeySums& other) {
    KeySums sum;  // log2 decays from the reference to the beginning of the part
    begin_at_middle(of_part, other, sum);
    wait_for_rows(stage, c);
    scale(stage, sum);
    if constexpr (bonus) bonus_.store(keys_);
    const ScoreWarp warp;
    float scores[8 * ScoreWarp::pairs];
    publish_shared();
    named_barrier<threads>(preparing_barrier());
    warp.issue(stage, scores);
    products_wait<0>();
    pin(scores);
    warp.store_all(stage, scores, masked(warp));
  }

  __device__ __forceinline__ void prepare_strong(const Stage& stage, int c, const KeySums& of_part,
                                                 const KeySums& other) {
    KeySums sum;  // as above, with the reference of the part's own frame
    Frames frames;
    begin_at_frame(stage, of_part, other, sum, frames);
    wait_for_rows(stage, c);
    scale(stage, sum);
    if constexpr (bonus) bonus_.store(keys_);
    const ScoreWarp warp;
    float scores[8 * ScoreWarp::pairs];
    named_barrier<threads>(preparing_barrier());
    const StrongScores products(block_, stage, warp);
    products.form(scores);
    named_barrier<threads>(preparing_barrier());  // nobody reads q and k any more
    move(stage, frames);
    products.store(scores, masked(warp));
  }

  /// Whether a part decays by so much that half of the chunk might exceed most_of_half.
  static __device__ __forceinline__ bool decays_much(const KeySums& of_part) {
    constexpr float most = most_of_half * 2 / parts;
    bool much = false;
#pragma unroll
    for (const float one : of_part) much = much || !(one > -most);
    return much;
  }
  /// Whether half of the chunk decays by too much in any key. The barrier that follows the sums
  /// also tells whether any single part decays strongly. The halves are added up only if one does.
  __device__ __forceinline__ bool vote(bool much) const {
    if (!named_barrier_or<threads>(preparing_barrier(), much)) return false;
    much = false;
    if (has_key()) {
      const StateTables::Halves halves = StateTables(block_, keys_.thread()).add_halves();
      much = !(halves.first > -most_of_half && halves.second > -most_of_half);
    }
    return named_barrier_or<threads>(preparing_barrier(), much);
  }
  /// Whether this thread has a key in the per-key tables. There may be fewer keys than threads.
  __device__ __forceinline__ bool has_key() const {
    return layout.keys >= threads || keys_.thread() < layout.keys;
  }

  // --- one reference for the chunk, in its middle

  /// `sum`: log2 decays from the reference to the beginning of the part.
  __device__ __forceinline__ void begin_at_middle(const KeySums& of_part, const KeySums& other,
                                                  KeySums& sum) const {
    const bool before = row() < rows / 2;
    const int first = before ? 1 : rows / 2;
    const float factor = second() ? 1.0f : 0.0f;
#pragma unroll
    for (int n = 0; n < keys; ++n)
      sum[n] = before ? fmaf(factor, other[n], -(of_part[n] + other[n])) : factor * other[n];
#pragma unroll
    for (int i = 0; i < rows / 2 - 1; ++i)
      add_row(sum, first + i,
              before ? (first + i > row() ? -1.0f : 0.0f) : (first + i < row() ? 1.0f : 0.0f));
  }

  // --- without outputs: k is scaled by its decay to the segment's end. The sums start at the last
  // token, so that nothing cancels

  /// `later`: log2 of what the later chunks decay by; on return this chunk's decay is included.
  /// Returns whether nothing of the earlier chunks is left at the segment's end.
  __device__ __forceinline__ bool prepare_state(const Stage& stage, int c, const KeySums& other,
                                                KeySums& later) const {
    named_barrier<threads>(preparing_barrier());  // the sums are there
    KeySums behind;
#pragma unroll
    for (int n = 0; n < keys; ++n) behind[n] = later[n] + (second() ? 0.0f : other[n]);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      KeySums of_row;
      load_row(i, of_row);
#pragma unroll
      for (int n = 0; n < keys; ++n) {
        behind[n] = fmaf(i > row() ? 1.0f : 0.0f, of_row[n], behind[n]);
        later[n] += of_row[n];
      }
    }
    wait_for_rows(stage, c);
    constexpr int at_once = 4;
#pragma unroll
    for (int first = tokens - at_once; first >= 0; first -= at_once) {
      unsigned k[at_once][words];
#pragma unroll
      for (int i = 0; i < at_once; ++i) keys_.load(stage.begin + layout.k, first + i, k[i]);
#pragma unroll
      for (int i = at_once - 1; i >= 0; --i) {
#pragma unroll
        for (int n = 0; n < words; ++n)
          k[i][n] = scaled(k[i][n], device::exp2_fast(behind[2 * n]),
                           device::exp2_fast(behind[2 * n + 1]));
        add_decay<true>(behind, first + i);
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) keys_.store(stage.begin + layout.k, first + i, k[i]);
    }
    bool left = false;
#pragma unroll
    for (int n = 0; n < keys; ++n)
      left = left || (block_.first_key() + keys_.key() + n < dim::key_dim && !(later[n] < enough));
    // This barrier also ensures that every thread has read the sums.
    const bool last = !named_barrier_or<threads>(preparing_barrier(), left);
    if (keys_.thread() == 0) store_shared(stage.begin + layout.last, last ? 1 : 0);
    return last;
  }
  /// Stores the log2 decays of the whole segment.
  __device__ __forceinline__ void keep(const KeySums& later) const {
    if (keys_.part() != 0 || block_.slice != 0) return;
    float* to = static_cast<float*>(p_.base.work[work_decays]) +
                block_.place(block_.segment) * decay_width + block_.first_key() + keys_.key();
#pragma unroll
    for (int n = 0; n < keys; ++n) to[n] = later[n];
  }

  const ChunkSm90Params& p_;
};

}  // namespace gla_bench::linear_recurrence::sm90
