#pragma once
// The warps of chunk_sm90 that put a decay for each key into a chunk's q and k and form its scores.
//
// A thread has eight tokens, a part of the chunk, of up to eight neighbouring keys
// (chunk_sm90_keys.cuh): 16 bytes of a row at once, and as many sums that do not wait for one
// another. It keeps its gates; scores and tables take their place in shared memory.

#include "linear_recurrence/chunk_sm90_framing.cuh"
#include "linear_recurrence/chunk_sm90_strong.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Preparation : private Framing {
 public:
  __device__ __forceinline__ Preparation(const ChunkSm90Params& p, const Block& block)
      : Framing(p, block), p_(p) {}

  template <bool outputs>
  __device__ __forceinline__ void run() {
    float after = 0.0f;  // log2 of what the state still decays by behind the chunk before, of a key
    for (int c = first_chunk(); c < block_.chunks; c += every) {
      const Stage stage = block_.stage(c);
      keys_ = KeyGroup();
      wait_for_tiles(stage, c);
      if constexpr (trait::ragged != 0) clear_missing(stage, block_.valid(c));
      load_gates(stage, block_.valid(c));
      KeySums sum, other;
      sum_up(sum);
      sum_of_mate(sum, other);
      publish(sum, other);
      if constexpr (on_chip) after = 0.0f;  // the chunk before leaves nothing
      if constexpr (outputs)
        prepare(stage, c, sum, other, after);
      else
        prepare_state(stage, other, after);
      publish_shared();
      barrier_arrive(stage.ready());
    }
    if (!outputs && has_key() && block_.slice == 0)
      static_cast<float*>(p_.base.work[work_decays])[block_.place(block_.segment) * decay_width +
                                                     block_.first_key() + keys_.thread()] = after;
  }

 private:
  static constexpr int threads = preparing_threads;
  /// Bits that half a chunk may decay by with one reference: from the middle of one chunk to that
  /// of the next they are twice as many, and such a factor is still a normal number.
  static constexpr float most_of_half = 62.0f;

  /// What becomes of a score: none of later tokens, of the token itself its bonus where it has one.
  __device__ __forceinline__ auto masked(const ScoreWarp& warp) const {
    const float first = bonus_.of(warp.row()), second = bonus_.of(warp.row() + 8);
    return [first, second, row = warp.row()](float score, int i, int j) {
      return j < i ? score : j > i ? 0.0f : bonus ? (i == row ? first : second) : score;
    };
  }

  __device__ __forceinline__ void prepare(const Stage& stage, int c, const KeySums& of_part,
                                          const KeySums& other, float& after) {
    const bool strong = vote(decays_much(of_part));
    Halves halves;
    if (has_key()) halves = add_halves();
    KeySums sum;  // log2 decays from the reference to the part's begin
    Frames frames;
    if (strong)
      begin_at_frame(stage, of_part, other, sum, frames);
    else
      begin_at_middle(of_part, other, sum);
    if (has_key()) write_tables(stage, c, strong, halves, after);
    scale(stage, sum);
    if constexpr (bonus) bonus_.store(keys_);
    const ScoreWarp warp;
    float scores[8 * ScoreWarp::pairs];
    if (strong) {
      named_barrier<threads>(preparing_barrier());
      const StrongScores products(block_, stage, warp);
      products.form(scores);
      named_barrier<threads>(preparing_barrier());  // nobody reads q and k any more
      move(stage, frames);
      products.store(scores, masked(warp));
    } else {
      publish_shared();  // strong chunks' are read by threads alone
      named_barrier<threads>(preparing_barrier());
      warp.issue(stage, scores);
      products_wait<0>();
      pin(scores);
      warp.store_all(stage, scores, masked(warp));
    }
  }

  /// Whether a part decays by so much that half of the chunk may do by more than most_of_half.
  static __device__ __forceinline__ bool decays_much(const KeySums& of_part) {
    constexpr float most = most_of_half * 2 / parts;
    bool much = false;
#pragma unroll
    for (const float one : of_part) much = much || !(one > -most);
    return much;
  }
  /// Whether half of the chunk decays by too much in any key. That no part does is told by the
  /// barrier behind the sums; only where one does the halves are added up.
  __device__ __forceinline__ bool vote(bool much) const {
    if (!named_barrier_or<threads>(preparing_barrier(), much)) return false;
    much = false;
    if (has_key()) {
      const Halves halves = add_halves();
      much = !(halves.first > -most_of_half && halves.second > -most_of_half);
    }
    return named_barrier_or<threads>(preparing_barrier(), much);
  }

  // --- the state's tables, a key to a thread

  __device__ __forceinline__ bool has_key() const {
    return layout.keys >= threads || keys_.thread() < layout.keys;
  }
  /// All threads add in the same order.
  struct Halves {
    float first = 0.0f, second = 0.0f, all;
  };
  __device__ __forceinline__ Halves add_halves() const {
    float of[rows];
#pragma unroll
    for (int row = 0; row < rows; ++row) of[row] = load_float(sums_at(row, keys_.thread()));
    Halves halves;
#pragma unroll
    for (int row = 0; row < rows / 2; ++row) {
      halves.first += of[row];
      halves.second += of[rows / 2 + row];
    }
    halves.all = halves.first;
#pragma unroll
    for (int row = rows / 2; row < rows; ++row) halves.all += of[row];
    return halves;
  }
  /// The factors that take the state from where the last chunk left it into this one's frame, and
  /// what is left behind it: log2, or with on_chip the factor.
  __device__ __forceinline__ void write_tables(const Stage& stage, int c, bool strong,
                                               const Halves& halves, float& after) const {
    const unsigned tables = stage.begin + 4 * keys_.thread();
    float frame = after;
    if (strong) {
      const int end = rounded(halves.all);
      after = halves.all - number(end);
      store_float(tables + layout.before_update, power(end));
      if (block_.between()) store_float(block_.decays(c) + 4 * keys_.thread(), number(end) + after);
    } else {
      frame += halves.first;
      after = halves.second;
      if (block_.between()) store_float(block_.decays(c) + 4 * keys_.thread(), frame + after);
    }
    store_float(tables + layout.factor, device::exp2_fast(frame));
    store_float(tables + layout.after_update, on_chip ? device::exp2_fast(after) : after);
    if (keys_.thread() == 0) store_shared(stage.begin + layout.strong, strong ? 1 : 0);
  }

  // --- one reference for the chunk, in its middle

  /// `sum`: log2 decays from the reference to the part's begin.
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

  // --- states alone: k goes to the chunk's end. From the last token on, so that nothing cancels

  __device__ __forceinline__ void prepare_state(const Stage& stage, const KeySums& other,
                                                float& all) const {
    named_barrier<threads>(preparing_barrier());
    KeySums behind;
#pragma unroll
    for (int n = 0; n < keys; ++n) behind[n] = second() ? 0.0f : other[n];
#pragma unroll
    for (int i = 1; i < rows; ++i) add_row(behind, i, i > row() ? 1.0f : 0.0f);
    if (has_key()) {
      const float chunk = add_halves().all;
      store_float(stage.begin + layout.factor + 4 * keys_.thread(), device::exp2_fast(chunk));
      all += chunk;
    }
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
    named_barrier<threads>(preparing_barrier());  // the sums have been read
  }

  const ChunkSm90Params& p_;
};

}  // namespace gla_bench::linear_recurrence::sm90
