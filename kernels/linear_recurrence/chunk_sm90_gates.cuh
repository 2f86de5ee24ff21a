#pragma once
// The four warps of chunk_sm90 that put the decays into a chunk's q and k and form its scores.
//
// A thread has two neighbouring keys of one part of the tokens, whose gates it keeps in registers.

#include "linear_recurrence/chunk_sm90_block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Preparation {
 public:
  __device__ Preparation(const ChunkSm90Params& p, const Block& block)
      : p_(p),
        block_(block),
        thread_(threadIdx.x % 128),
        lane_(threadIdx.x % 32),
        warp_(threadIdx.x / 32 % 4),
        part_(warp_ / layout.key_tiles),
        tile_(warp_ % layout.key_tiles) {}

  __device__ void run() {
    float2 after = {0.0f, 0.0f};  // log2 of what the state still decays by behind the chunk before
    if constexpr (scalar_decay) fetch_token_gate(0);
    if constexpr (bonus) read_bonus();
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      if constexpr (scalar_decay) publish_token_gates(c);
      barrier_wait(stage.arrived(), stage.parity);
      if constexpr (trait::ragged != 0) clear_missing(stage, block_.valid(c));
      float scores[32];
      if constexpr (decays) {
        read_gates(stage, block_.valid(c));
        const float2 sum = sum_of_part();
        store_floats(sums_at(part_), sum);
        constexpr float most = most_of_half * 2 / layout.parts;
        const bool strong = named_barrier_or<128>(1, !(sum.x > -most && sum.y > -most));
        if (strong)
          prepare_strong(stage, after, scores);
        else
          prepare(stage, after, scores);
      } else {
        form_scores(stage, scores);
      }
      store_scores(stage, scores);
      publish_shared();
      barrier_arrive(stage.ready());
    }
  }

 private:
  static constexpr bool decays = trait::decay != no_decay;
  static constexpr bool bonus = trait::before_update != 0;  // the state is read before the update
  static_assert(decays || !bonus);
  static constexpr int parts = layout.parts, tokens = layout.tokens / parts;  // of a part
  static_assert(parts == 2 || parts == 4);
  /// Bits that half a chunk may decay by with one reference: from the middle of one chunk to that of
  /// the next they are twice as many, and such a factor is still a normal number.
  static constexpr float most_of_half = 62.0f;
  /// Bits that a token decays by at most: less is below float32's resolution of what it multiplies.
  /// Of the four tokens on either side of a reference they are 96, so that what is flushed to zero,
  /// below 2^-126, would be smaller than 2^-30 times what it is added to.
  static constexpr float strongest = -24.0f;

  __device__ int first_row() const { return part_ * tokens; }
  /// Byte offset of this thread's keys in the table of all.
  __device__ unsigned keys_at() const { return 4 * (64 * tile_ + 2 * lane_); }
  __device__ unsigned sums_at(int part) const {
    return block_.shared + layout.sums + part * layout.keys * 4 + keys_at();
  }
  __device__ unsigned word_at(unsigned tiles, int row) const {
    return tiles + tile_ * layout.tile_bytes + swizzled(row, 4 * lane_);
  }

  // --- gates

  static __device__ float log2_decay(float g) { return fmaxf(g * device::log2_e, strongest); }

  /// One gate a token: the next chunk's is under way while this one is worked on.
  __device__ void fetch_token_gate(int c) {
    if (thread_ >= layout.tokens) return;
    const int token = c * layout.tokens + thread_;
    next_gate_ = 0.0f;
    if (token >= block_.tokens) return;
    if constexpr (trait::decay == head_decay)
      next_gate_ = log2_decay(p_.base.log_decay[block_.head]);
    else
      next_gate_ = log2_decay(log_decay(device::to_float(static_cast<const io_t*>(
          p_.base.g)[block_.batch * p_.base.gate_strides.batch +
                     (block_.first_token + token) * p_.base.gate_strides.seq +
                     block_.head * p_.base.gate_strides.heads])));
  }
  __device__ void publish_token_gates(int c) {
    if (thread_ < layout.tokens)
      store_shared(block_.shared + layout.token_gates + 4 * thread_, __float_as_uint(next_gate_));
    fetch_token_gate(c + 1);
    named_barrier<128>(1);
  }

  /// Behind the end of a ragged sequence lies the next one: k is made zero there.
  __device__ void clear_missing(const Stage& stage, int valid) const {
    for (int i = valid < first_row() ? 0 : valid - first_row(); i < tokens; ++i)
      store_shared(word_at(stage.begin + layout.k, first_row() + i), 0);
  }

  /// Keeps the gates of this thread's keys and tokens. Tokens that are not there do not decay.
  __device__ void read_gates(const Stage& stage, int valid) {
    if constexpr (scalar_decay) {
      for (int i = 0; i < tokens / 2; ++i) {
        const float2 pair =
            load_floats(block_.shared + layout.token_gates + 4 * (first_row() + 2 * i));
        token_gates_[2 * i] = pair.x;
        token_gates_[2 * i + 1] = pair.y;
      }
    } else {
#pragma unroll
      for (int i = 0; i < tokens; ++i)
        gates_[i] = load_shared(word_at(stage.begin + layout.gates, first_row() + i));
    }
    missing_ = valid - first_row();
  }
  /// log2 of the decays of the part's token i.
  __device__ float2 gate(int i) const {
    if constexpr (scalar_decay) {
      return {token_gates_[i], token_gates_[i]};
    } else {
      float2 g = {log2_decay(log_decay(low_of(gates_[i]))),
                  log2_decay(log_decay(high_of(gates_[i])))};
      if constexpr (trait::ragged != 0 || trait::raw_gate != 0)
        if (i >= missing_) g = {0.0f, 0.0f};
      return g;
    }
  }
  __device__ float2 sum_of_part() const {
    float2 sum = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < tokens; ++i) {
      const float2 g = gate(i);
      sum.x += g.x, sum.y += g.y;
    }
    return sum;
  }
  /// Sum over the parts [begin, end).
  __device__ float2 sum_of_parts(int begin, int end) const {
    float2 sum = {0.0f, 0.0f};
    for (int part = begin; part < end; ++part) {
      const float2 one = load_floats(sums_at(part));
      sum.x += one.x, sum.y += one.y;
    }
    return sum;
  }

  static __device__ unsigned scaled(unsigned word, float x, float y) {
    return pack(low_of(word) * x, high_of(word) * y);
  }
  /// q and k of the part's eight tokens from `first` on: q times 2^before or 2^after, k times
  /// 2^-after, where the log2 decays from the reference to the state before a token and behind it
  /// are these. `sum`: that before the first of them; behind the last when it returns.
  __device__ void scale_block(const Stage& stage, int first, float2& sum) {
    const int row = first_row() + first;
    unsigned q[8], k[8];  // first all loads, then all stores: the compiler keeps their order
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      q[i] = load_shared(word_at(stage.begin + layout.q, row + i));
      k[i] = load_shared(word_at(stage.begin + layout.k, row + i));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 before = sum, g = gate(first + i);
      sum.x += g.x, sum.y += g.y;
      const float2 e = bonus ? before : sum;
      if constexpr (bonus)
        bonuses_[first + i] =
            low_of(q[i]) * low_of(k[i]) * bonus_.x + high_of(q[i]) * high_of(k[i]) * bonus_.y;
      q[i] = scaled(q[i], device::exp2_fast(e.x), device::exp2_fast(e.y));
      k[i] = scaled(k[i], device::exp2_fast(-sum.x), device::exp2_fast(-sum.y));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      store_shared(word_at(stage.begin + layout.q, row + i), q[i]);
      store_shared(word_at(stage.begin + layout.k, row + i), k[i]);
    }
  }

  // --- one reference for the chunk, in its middle

  __device__ void prepare(const Stage& stage, float2& after, float (&scores)[32]) {
    float2 sum;
    if (part_ < parts / 2) {
      const float2 behind = sum_of_parts(part_, parts / 2);
      sum = {-behind.x, -behind.y};
    } else {
      sum = sum_of_parts(parts / 2, part_);
    }
#pragma unroll
    for (int first = 0; first < tokens; first += 8) scale_block(stage, first, sum);
    if (part_ == 0) {
      const float2 middle = sum_of_parts(0, parts / 2);
      enter(stage, middle, after);
      after = sum_of_parts(parts / 2, parts);
      leave(stage, after, false);
    }
    if constexpr (bonus) store_bonuses();
    form_scores(stage, scores);
  }

  /// The factors that take the state from where the last chunk left it into this one's frame.
  __device__ void enter(const Stage& stage, float2 frame, float2 after) const {
    store_floats(stage.begin + layout.factor + keys_at(),
                 {device::exp2_fast(after.x + frame.x), device::exp2_fast(after.y + frame.y)});
  }
  __device__ void leave(const Stage& stage, float2 after, bool strong) const {
    store_floats(stage.begin + layout.after_update + keys_at(), after);
    if (thread_ == 0) store_shared(stage.begin + layout.strong, strong ? 1 : 0);
  }

  /// Q K^T of the whole chunk, scores[4 n + i] in wgmma's order.
  __device__ void form_scores(const Stage& stage, float (&scores)[32]) const {
    publish_shared();
    named_barrier<128>(1);
    products_fence();
#pragma unroll
    for (int s = 0; s < 4 * layout.key_tiles; ++s) {
      const unsigned at = s / 4 * layout.tile_bytes + s % 4 * 32;
      product_n64<along_k, along_k>(scores, operand(stage.begin + layout.q + at),
                                    operand(stage.begin + layout.k + at), s > 0);
    }
    products_commit();
    products_wait<0>();
    pin(scores);
  }

  // --- a reference for each eight tokens

  static constexpr int blocks = tokens / 8;  // of eight tokens, of a part

  __device__ unsigned reference_at(const Stage& stage, int block) const {
    return stage.begin + layout.references + block * layout.keys * 4 + keys_at();
  }

  /// Scores that are finite for every decay. They are formed in frames of eight tokens; then q goes
  /// to the frame of the chunk's begin and k to that of its end, by powers of two.
  __device__ void prepare_strong(const Stage& stage, float2& after, float (&scores)[32]) {
    float2 references[blocks];
    float2 sum = sum_of_parts(0, part_);
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      float2 middle = sum;
#pragma unroll
      for (int i = 8 * block; i < 8 * block + 4; ++i) {
        const float2 g = gate(i);
        middle.x += g.x, middle.y += g.y;
      }
      references[block] = {rintf(middle.x), rintf(middle.y)};
      store_floats(reference_at(stage, first_row() / 8 + block), references[block]);
      sum.x -= references[block].x, sum.y -= references[block].y;
      scale_block(stage, 8 * block, sum);
      sum.x += references[block].x, sum.y += references[block].y;
    }
    const float2 all = sum_of_parts(0, parts);  // here: behind the barriers others go on
    if constexpr (bonus) store_bonuses();
    named_barrier<128>(1);
    step_scores(stage, scores);
    named_barrier<128>(1);
    const float2 end = {rintf(all.x), rintf(all.y)};
#pragma unroll
    for (int block = 0; block < blocks; ++block)
      move_block(stage, first_row() + 8 * block, references[block], end);
    if (part_ == 0) {
      enter(stage, {0.0f, 0.0f}, after);
      store_floats(stage.begin + layout.before_update + keys_at(),
                   {device::exp2_fast(end.x), device::exp2_fast(end.y)});
      after = {all.x - end.x, all.y - end.y};
      leave(stage, after, true);
    }
  }

  /// Eight tokens' q from their reference to the chunk's begin, their k to its end.
  __device__ void move_block(const Stage& stage, int row, float2 reference, float2 end) const {
    const float2 to_begin = {device::exp2_fast(reference.x), device::exp2_fast(reference.y)};
    const float2 to_end = {device::exp2_fast(end.x - reference.x),
                           device::exp2_fast(end.y - reference.y)};
    for (int i = row; i < row + 8; ++i) {
      const unsigned q = word_at(stage.begin + layout.q, i);
      const unsigned k = word_at(stage.begin + layout.k, i);
      store_shared(q, scaled(load_shared(q), to_begin.x, to_begin.y));
      store_shared(k, scaled(load_shared(k), to_end.x, to_end.y));
    }
  }

  /// Each warp's 16 rows, by products of warps: q steps from its own reference to that of the block
  /// of eight columns before, which only shrinks it.
  __device__ void step_scores(const Stage& stage, float (&scores)[32]) const {
#pragma unroll
    for (float& score : scores) score = 0.0f;
    for (int s = 0; s < 4 * layout.key_tiles; ++s) {
      unsigned q[4];
      const unsigned tile = stage.begin + layout.q + s / 4 * layout.tile_bytes;
      load_matrices(tile + swizzled(16 * warp_ + lane_ % 16, s % 4 * 32 + lane_ / 16 * 16), q);
      // Rows of the first eight tokens: pieces 0 and 2; of the second: 1 and 3.
      float low[4] = {low_of(q[0]), high_of(q[0]), low_of(q[2]), high_of(q[2])};
      float high[4] = {low_of(q[1]), high_of(q[1]), low_of(q[3]), high_of(q[3])};
#pragma unroll
      for (int block = layout.blocks - 1; block >= 0; --block) {
        if (block > 2 * warp_ + 1) continue;
        step_block(stage, s, block, low, high, scores);
      }
    }
  }

  __device__ void step_block(const Stage& stage, int s, int block, float (&low)[4],
                             float (&high)[4], float (&scores)[32]) const {
    if (block < 2 * warp_ + 1) {
      float step[4], rest[4];
      read_step(stage, s, block, step, rest);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        high[i] = high[i] * step[i] * rest[i];
        if (block < 2 * warp_) low[i] = low[i] * step[i] * rest[i];
      }
    }
    const bool own = block == 2 * warp_ + 1;  // the first eight rows are before its columns
    unsigned k[2];
    const unsigned tile = stage.begin + layout.k + s / 4 * layout.tile_bytes;
    load_matrices(tile + swizzled(8 * block + lane_ % 8, s % 4 * 32 + lane_ / 8 % 2 * 16), k);
    float sums[4] = {scores[4 * block], scores[4 * block + 1], scores[4 * block + 2],
                     scores[4 * block + 3]};
    warp_product(sums, own ? 0u : pack(low[0], low[1]), pack(high[0], high[1]),
                 own ? 0u : pack(low[2], low[3]), pack(high[2], high[3]), k);
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[4 * block + i] = sums[i];
  }

  /// 2^(reference of the block behind - reference of this one), of the keys that this lane holds, as
  /// two factors: one alone may be too small for a float, where a q of 2^96 comes out near 1.
  __device__ void read_step(const Stage& stage, int s, int block, float (&step)[4],
                            float (&rest)[4]) const {
    const unsigned at =
        stage.begin + layout.references + block * layout.keys * 4 + 4 * (16 * s + 2 * (lane_ % 4));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 to = load_floats(at + half * 32);
      const float2 from = load_floats(at + half * 32 + layout.keys * 4);
      const float bits[2] = {from.x - to.x, from.y - to.y};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float first = floorf(0.5f * bits[i]);
        step[2 * half + i] = device::exp2_fast(first);
        rest[2 * half + i] = device::exp2_fast(bits[i] - first);
      }
    }
  }

  // --- the bonus of the token itself

  __device__ unsigned bonus_at(int tile, int row) const {
    return block_.shared + layout.bonuses + 4 * (tile * layout.tokens + row);
  }
  __device__ void read_bonus() {
    const auto* u =
        static_cast<const io_t*>(p_.base.u) + static_cast<long long>(block_.head) * dim::key_dim;
    const int key = 64 * tile_ + 2 * lane_;  // K is even
    if (key < dim::key_dim) bonus_ = device::load_pair(u + key);
  }
  /// Adds bonuses_ up over the lanes that differ in the bits below 2 half: each step halves the
  /// tokens that a lane has, until it is its own.
  template <int half>
  __device__ void fold_bonuses() {
    const bool upper = (lane_ & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float sent = upper ? bonuses_[i] : bonuses_[i + half];
      const float kept = upper ? bonuses_[i + half] : bonuses_[i];
      bonuses_[i] = kept + __shfl_xor_sync(0xffffffffu, sent, half);
    }
    if constexpr (half > 1) fold_bonuses<half / 2>();
  }
  __device__ void store_bonuses() {
    fold_bonuses<tokens / 2>();
    float sum = bonuses_[0];  // of token lane % tokens
#pragma unroll
    for (int distance = tokens; distance < 32; distance *= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane_ < tokens) store_shared(bonus_at(tile_, first_row() + lane_), __float_as_uint(sum));
  }
  __device__ float bonus_of(int row) const {
    float sum = 0.0f;
    for (int tile = 0; tile < layout.key_tiles; ++tile) sum += load_float(bonus_at(tile, row));
    return sum;
  }

  // --- scores

  /// The score of row i and column j: none of later tokens; the token itself may have a bonus
  /// instead.
  static __device__ float masked(float score, int i, int j, float own) {
    return j < i ? score : j > i ? 0.0f : bonus ? own : score;
  }
  /// Rounds the scores into their tile.
  __device__ void store_scores(const Stage& stage, const float (&scores)[32]) const {
    const int row = 16 * warp_ + lane_ / 4;
    float own[2] = {0.0f, 0.0f};
    if constexpr (bonus) own[0] = bonus_of(row), own[1] = bonus_of(row + 8);
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      unsigned pieces[4];
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        const int block = n + m / 2, i = row + m % 2 * 8, j = 8 * block + 2 * (lane_ % 4);
        const float x = scores[4 * block + m % 2 * 2], y = scores[4 * block + m % 2 * 2 + 1];
        pieces[m] = pack(masked(x, i, j, own[m % 2]), masked(y, i, j + 1, own[m % 2]));
      }
      const unsigned at = swizzled(16 * warp_ + lane_ % 16, 16 * n + lane_ / 16 * 16);
      store_matrices(stage.begin + layout.scores + at, pieces[0], pieces[1], pieces[2], pieces[3]);
    }
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  int thread_, lane_, warp_, part_, tile_;
  int missing_ = 0;  // the part's tokens from here on are not there
  float next_gate_ = 0.0f;
  unsigned gates_[tokens];       // pairs of bfloat16, with a gate for each key
  float2 bonus_ = {0.0f, 0.0f};  // u of this thread's keys
  float bonuses_[tokens];        // q u k of them, of each token
  float token_gates_[tokens];    // with one for all keys
};

}  // namespace gla_bench::linear_recurrence::sm90
