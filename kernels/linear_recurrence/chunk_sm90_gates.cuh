#pragma once
// The warps of chunk_sm90 that put a decay for each key into a chunk's q and k and form its scores.
//
// A thread has two neighbouring keys of one part of the tokens (chunk_sm90_sums.cuh). Tables for
// the state's warps take the gates' place when all have read those.

#include "linear_recurrence/chunk_sm90_scaling.cuh"
#include "linear_recurrence/chunk_sm90_strong.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Preparation : private KeyScaling {
 public:
  __device__ __forceinline__ Preparation(const ChunkSm90Params& p, const Block& block)
      : KeyScaling(p, block), p_(p), thread_(preparing_thread()) {}

  template <bool outputs>
  __device__ __forceinline__ void run() {
    float2 after = {0.0f, 0.0f};  // log2 of what the state still decays by behind the chunk before
    for (int c = first_chunk(); c < block_.chunks; c += every) {
      const Stage stage = block_.stage(c);
      wait_for_tiles(stage, c);
      if constexpr (trait::ragged != 0) clear_missing(stage, block_.valid(c));
      missing_ = block_.valid(c) - keys_.first_row();
      if constexpr (kept) load_gates(stage, 0, gates_);
      const float2 sum = sum_of_part(stage);
      store_floats(sums_at(keys_.part()), sum);
      if constexpr (on_chip) after = {0.0f, 0.0f};  // the chunk before leaves nothing
      if constexpr (outputs)
        prepare(stage, c, sum, after);
      else
        prepare_state(stage, after);
      publish_shared();
      barrier_arrive(stage.ready());
    }
    if (!outputs && keys_.part() == 0 && block_.slice == 0)
      reinterpret_cast<float2*>(static_cast<float*>(p_.base.work[work_decays]) +
                                block_.place(block_.segment) * decay_width +
                                block_.first_key())[keys_.key() / 2] = after;
  }

 private:
  static constexpr int blocks = tokens / 8;  // of eight tokens, of a part
  static constexpr int threads = preparing_threads;
  static_assert(!key_gates || parts == 2 || parts == 4 || parts == 8);
  /// Bits that half a chunk may decay by with one reference: from the middle of one chunk to that
  /// of the next they are twice as many, and such a factor is still a normal number.
  static constexpr float most_of_half = 62.0f;

  /// What becomes of a score: none of later tokens, of the token itself its bonus where it has one.
  __device__ __forceinline__ auto masked() const {
    const float first = bonus_.of(warp_.row()), second = bonus_.of(warp_.row() + 8);
    return [first, second, row = warp_.row()](float score, int i, int j) {
      return j < i ? score : j > i ? 0.0f : bonus ? (i == row ? first : second) : score;
    };
  }

  __device__ __forceinline__ void prepare(const Stage& stage, int c, float2 sum, float2& after) {
    constexpr float most = most_of_half * 2 / parts;
    const bool strong =
        named_barrier_or<threads>(preparing_barrier(), !(sum.x > -most && sum.y > -most));
    float scores[8 * ScoreWarp::pairs];
    float2 frame = after;  // log2 of what takes the state from the last chunk's into this one's
    Frames frames;
    if (strong)
      prepare_strong(stage, after, frames);
    else
      prepare_mild(stage, after, frame);
    if constexpr (bonus) bonus_.store();
    if (!strong) publish_shared();  // else by threads alone
    named_barrier<threads>(preparing_barrier());
    if (keys_.part() == 0) {
      enter(stage, frame);
      if (strong) finish(stage, frames);
      leave(stage, after, strong);
      if (block_.between()) {
        const Bits whole = bits_of(frames.end);
        const float2 end = strong ? float2{number(whole.x), number(whole.y)} : frame;
        store_floats(block_.decays(c) + keys_.at(), {end.x + after.x, end.y + after.y});
      }
    }
    if (strong) {
      const StrongScores products(block_, stage, warp_);
      products.form(scores);
      named_barrier<threads>(preparing_barrier());  // nobody reads q and k any more
      move_blocks(stage, frames);
      products.store(scores, masked());
    } else {
      warp_.issue(stage, scores);
      products_wait<0>();
      pin(scores);
      warp_.store_all(stage, scores, masked());
    }
  }

  // --- one reference for the chunk, in its middle

  __device__ __forceinline__ void prepare_mild(const Stage& stage, float2& after, float2& frame) {
    float2 sum;
    const int part = keys_.part();
    if (part < parts / 2) {
      const float2 behind = sum_of_parts(part, parts / 2);
      sum = {-behind.x, -behind.y};
    } else {
      sum = sum_of_parts(parts / 2, part);
    }
#pragma unroll
    for (int first = 0; first < tokens; first += 8) {
      if constexpr (summed) {
        scale_summed(stage, first, sum);
      } else {
        unsigned gates[8];
        eight_gates(stage, first, gates);
        scale_block(stage, first, gates, sum);
      }
    }
    if (part == 0) {
      const float2 middle = sum_of_parts(0, parts / 2);
      frame = {after.x + middle.x, after.y + middle.y};
      after = sum_of_parts(parts / 2, parts);
    }
  }

  /// The factors, as log2, that take the state from where the last chunk left it into this one's
  /// frame.
  __device__ __forceinline__ void enter(const Stage& stage, float2 bits) const {
    store_floats(stage.begin + layout.factor + keys_.at(),
                 {device::exp2_fast(bits.x), device::exp2_fast(bits.y)});
  }
  __device__ __forceinline__ void leave(const Stage& stage, float2 after, bool strong) const {
    if constexpr (on_chip) after = {device::exp2_fast(after.x), device::exp2_fast(after.y)};
    store_floats(stage.begin + layout.after_update + keys_.at(), after);
    if (thread_ == 0) store_shared(stage.begin + layout.strong, strong ? 1 : 0);
  }

  // --- a frame for each eight tokens (chunk_sm90_frames.cuh): q and k are put into them; when the
  // scores are formed q goes to that of the chunk's begin and k to that of its end

  /// Rows of the next block are loaded before those of one are stored.
  static constexpr bool ahead = kept && blocks > 1 && layout.key_tiles < 4;

  /// What is to be known of a strong chunk's blocks when the scores have been formed, kept_bits().
  struct Frames {
    unsigned references[blocks], end;
    unsigned moving;  ///< whether anything is left of block n's q (bit 2 n) and k (2 n + 1)
  };

  __device__ __forceinline__ void prepare_strong(const Stage& stage, float2& after,
                                                 Frames& frames) {
    const KeyPair keys = keys_.again();
    const Sums around = sums_around(keys.part());
    unsigned q[8], k[8];
    if constexpr (ahead) {
      keys.load(stage.begin + layout.q, keys.first_row(), q);
      keys.load(stage.begin + layout.k, keys.first_row(), k);
    }
    const Bits end = rounded(around.all), part_end = rounded(around.end);
    frames.end = kept_bits(end);
    if (keys.part() == 0) after = {around.all.x - number(end.x), around.all.y - number(end.y)};
    Bits bound = rounded(around.begin);
    float2 sum = {0.0f, 0.0f};  // from the part's begin
    frames.moving = 0;
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      const float2 before = sum;
      float2 sums[8];
      unsigned gates[8];
      if constexpr (!summed) eight_gates(stage, 8 * block, gates);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if constexpr (summed)
          sum = sums_[8 * block + i];
        else
          add_decay(sum, gates[i], 8 * block + i);
        sums[i] = sum;
      }
      const Bits next = block + 1 < blocks
                            ? rounded(float2{around.begin.x + sum.x, around.begin.y + sum.y})
                            : part_end;
      const Frame frame(bound, next);
      const int row = keys.first_row() + 8 * block, eight = row / 8;
      store_factors(factors_at(block_, stage, eight, keys.tile()), keys.lane(), frame);
      store_fade(fade_at(block_, eight, keys.tile()), frame);
      frames.references[block] = kept_bits(frame.reference);
      frames.moving |= any(bound, {0, 0}) << 2 * block | any(end, next) << (2 * block + 1);
      bound = next;

      unsigned next_q[8], next_k[8];
      if constexpr (!ahead) {
        keys.load(stage.begin + layout.q, row, q);
        keys.load(stage.begin + layout.k, row, k);
      } else if (block + 1 < blocks) {
        keys.load(stage.begin + layout.q, row + 8, next_q);
        keys.load(stage.begin + layout.k, row + 8, next_k);
      }
      const float2 origin = frame.origin();
      scale_rows(8 * block, {around.begin.x - origin.x, around.begin.y - origin.y}, before, sums, q,
                 k);
      keys.store(stage.begin + layout.q, row, q);
      keys.store(stage.begin + layout.k, row, k);
      if constexpr (ahead) {
        if (block + 1 == blocks) break;
#pragma unroll
        for (int i = 0; i < 8; ++i) q[i] = next_q[i], k[i] = next_k[i];
      }
    }
  }
  /// The factors that the state decays by before its update, like k to the chunk's end.
  __device__ __forceinline__ void finish(const Stage& stage, const Frames& frames) const {
    const Bits end = bits_of(frames.end);
    store_floats(stage.begin + layout.before_update + keys_.at(), {power(end.x), power(end.y)});
  }
  /// Whether one of a warp's keys has anything left of what decays from one bound to the other.
  static __device__ __forceinline__ unsigned any(Bits to, Bits from) {
    return __any_sync(0xffffffffu, to.x - from.x >= enough || to.y - from.y >= enough) != 0 ? 1 : 0;
  }

  __device__ __forceinline__ void move_blocks(const Stage& stage, const Frames& frames) const {
    const KeyPair keys = keys_.again();
    const Bits end = bits_of(frames.end);
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      const int row = keys.first_row() + 8 * block;
      const unsigned moving = frames.moving >> 2 * block;
      const Bits from = bits_of(frames.references[block]);
      move_rows(keys, stage.begin + layout.q, row, (moving & 1) != 0, from);
      move_rows(keys, stage.begin + layout.k, row, (moving & 2) != 0,
                {end.x - from.x, end.y - from.y});
    }
  }
  /// Eight rows by powers of two, or zeros where nothing is left of them.
  static __device__ __forceinline__ void move_rows(const KeyPair& keys, unsigned tiles, int row,
                                                   bool moves, Bits bits) {
    if (moves) {
      const unsigned factor = powers_or_zero(bits);
      unsigned words[8];
      keys.load(tiles, row, words);
#pragma unroll
      for (int i = 0; i < 8; ++i) words[i] = times(words[i], factor);
      keys.store(tiles, row, words);
    } else {
      const unsigned at = tiles + keys.tile() * layout.tile_bytes + row * 128 + keys.lane() * 16;
      constexpr unsigned none[4] = {};
      store_words(at, none);
      store_words(at + 512, none);
    }
  }

  // --- states alone: k goes to the chunk's end. From the last token on, so that nothing cancels

  __device__ __forceinline__ void prepare_state(const Stage& stage, float2& all) {
    named_barrier<threads>(preparing_barrier());
    float2 behind = sum_of_parts(keys_.part() + 1, parts);
#pragma unroll
    for (int first = tokens - 8; first >= 0; first -= 8) {
      const int row = keys_.first_row() + first;
      unsigned k[8], gates[8];
      eight_gates(stage, first, gates);
      keys_.load(stage.begin + layout.k, row, k);
#pragma unroll
      for (int i = 7; i >= 0; --i) {
        k[i] = scaled(k[i], device::exp2_fast(behind.x), device::exp2_fast(behind.y));
        add_decay(behind, gates[i], first + i);
      }
      keys_.store(stage.begin + layout.k, row, k);
    }
    const float2 chunk = sum_of_parts(0, parts);
    named_barrier<threads>(preparing_barrier());  // sums and gates have been read
    if (keys_.part() == 0) {
      enter(stage, chunk);
      all.x += chunk.x, all.y += chunk.y;
    }
  }

  const ChunkSm90Params& p_;
  ScoreWarp warp_;
  int thread_;
};

}  // namespace gla_bench::linear_recurrence::sm90
