#pragma once
// How a preparing thread of chunk_sm90 puts its part of a strong chunk into a frame of its own
// (frames.cuh), and how it takes the part out of that frame again. It does so once the scores
// have been formed: then q is scaled to the beginning of the chunk and k to its end.

#include "linear_recurrence/sm90/frames.cuh"
#include "linear_recurrence/sm90/scaling.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Framing : protected KeyScaling {
 protected:
  using KeyScaling::KeyScaling;

  /// Whether anything is left of a part's q at the beginning of the chunk, and of its k at the end.
  struct Frames {
    bool q_moves, k_moves;
  };
  /// Puts the frame's factors into the stage's tables. On return `sum` is the log2 decays from the
  /// frame's reference to the beginning of the part.
  __device__ __forceinline__ void begin_at_frame(const Stage& stage, const KeySums& of_part,
                                                 const KeySums& other, KeySums& sum,
                                                 Frames& frames) const {
    const int part = keys_.part();
    KeySums begin, all;
#pragma unroll
    for (int n = 0; n < keys; ++n) begin[n] = all[n] = 0.0f;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      KeySums of_row;
      load_row(i, of_row);
#pragma unroll
      for (int n = 0; n < keys; ++n) {
        begin[n] = i == row() ? all[n] : begin[n];
        all[n] += of_row[n];
      }
    }
    int most = -1000000;
    bool q_moves = false, k_moves = false;
    unsigned to_begin[words], to_end[words];
#pragma unroll
    for (int n = 0; n < words; ++n) {
      const float2 first = begin_of(begin, other, 2 * n);
      const float2 last = end_of(begin, of_part, other, 2 * n);
      const Bits end = rounded(float2{all[2 * n], all[2 * n + 1]});
      const Frame frame(rounded(first), rounded(last));
      store_factors(stage, part, keys_.key() / 2 + n, frame);
      most = max(most, frame.fade());
      const float2 origin = frame.origin();
      sum[2 * n] = first.x - origin.x, sum[2 * n + 1] = first.y - origin.y;
      to_begin[n] = powers_or_zero(frame.reference);
      to_end[n] = powers_or_zero({end.x - frame.reference.x, end.y - frame.reference.y});
      q_moves = q_moves || left(frame.begin, {0, 0});
      k_moves = k_moves || left(end, frame.end);
    }
    store_words(moves_at(stage, false), to_begin);
    store_words(moves_at(stage, true), to_end);
    frames.q_moves = (__ballot_sync(0xffffffffu, q_moves) & keys_.mates()) != 0;
    frames.k_moves = (__ballot_sync(0xffffffffu, k_moves) & keys_.mates()) != 0;
#pragma unroll
    for (int distance = 1; distance < KeyGroup::lanes; distance *= 2)
      most = max(most, __shfl_xor_sync(0xffffffffu, most, distance));
    if (keys_.lane() == 0) store_shared(fade_at(block_, part), static_cast<unsigned>(most));
  }
  __device__ __forceinline__ void move(const Stage& stage, const Frames& frames) const {
    const KeyGroup keys;
    move_rows(keys, stage.begin + layout.q, frames.q_moves, moves_at(stage, false));
    move_rows(keys, stage.begin + layout.k, frames.k_moves, moves_at(stage, true));
  }

 private:
  /// Where a thread keeps the factors that q, or k, is multiplied by once the scores have been
  /// formed.
  __device__ __forceinline__ unsigned moves_at(const Stage& stage, bool of_k) const {
    return stage.begin + layout.moves + ((2 * keys_.part() + of_k) * layout.keys + keys_.key()) * 2;
  }

  /// Where a part begins and ends, for two keys from n on. `begin` is where the first part of the
  /// warp begins. All threads add in the same order, so a part's end is exactly the next one's
  /// beginning.
  __device__ __forceinline__ float2 begin_of(const KeySums& begin, const KeySums& other,
                                             int n) const {
    if (!second()) return {begin[n], begin[n + 1]};
    return {begin[n] + other[n], begin[n + 1] + other[n + 1]};
  }
  __device__ __forceinline__ float2 end_of(const KeySums& begin, const KeySums& of_part,
                                           const KeySums& other, int n) const {
    if (!second()) return {begin[n] + of_part[n], begin[n + 1] + of_part[n + 1]};
    return {begin[n] + (of_part[n] + other[n]), begin[n + 1] + (of_part[n + 1] + other[n + 1])};
  }
  /// Whether anything is left of one of two keys after the decay from one bound to the other.
  static __device__ __forceinline__ bool left(Bits to, Bits from) {
    return to.x - from.x >= enough || to.y - from.y >= enough;
  }

  /// Multiplies the part's rows by powers of two, or clears them where nothing is left.
  __device__ __forceinline__ void move_rows(const KeyGroup& keys, unsigned tiles, bool moves,
                                            unsigned table) const {
    if (!moves) {
#pragma unroll
      for (int i = 0; i < tokens; ++i) keys.clear(tiles, i);
      return;
    }
    unsigned factors[words];
    load_words(table, factors);
    constexpr int at_once = 4;
#pragma unroll
    for (int first = 0; first < tokens; first += at_once) {
      unsigned rows[at_once][words];
#pragma unroll
      for (int i = 0; i < at_once; ++i) keys.load(tiles, first + i, rows[i]);
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
#pragma unroll
        for (int n = 0; n < words; ++n) rows[i][n] = times(rows[i][n], factors[n]);
        keys.store(tiles, first + i, rows[i]);
      }
    }
  }
};

}  // namespace gla_bench::linear_recurrence::sm90
