#pragma once
// The warps of chunk_sm90 that prepare chunks where all keys of a token share its decay, or nothing
// decays.
//
// Scores come from q and k as they are: with b the sums of log2 decays since the chunk's begin each
// is multiplied by 2^(b_i - b_j), which is at most 1. Behind that q goes to the chunk's begin, 2^b,
// and k to its end, 2^(b_end - b): finite for every decay, so that nothing is voted on.

#include "linear_recurrence/chunk_sm90_scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class ScalarPreparation {
 public:
  __device__ __forceinline__ ScalarPreparation(const ChunkSm90Params& p, const Block& block)
      : p_(p), block_(block), thread_(threadIdx.x - 128), lane_(threadIdx.x % 32) {}

  template <bool outputs>
  __device__ __forceinline__ void run() {
    if (decays && thread_ < 32) fetch_gates(0);
    float all = 0.0f;
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      if (decays && thread_ < 32) {
        publish_sums(c);
        fetch_gates(c + 1);
      }
      barrier_wait(stage.arrived(), stage.parity);
      float scores[8 * ScoreWarp::pairs];
      if constexpr (outputs) warp_.issue(stage, scores);
      if constexpr (decays) named_barrier<threads>(1);  // the sums are there
      if constexpr (outputs) {
        products_wait<0>();
        pin(scores);
        store_scores(stage, c, scores);
      }
      if constexpr (decays || trait::ragged != 0) {
        if constexpr (outputs) named_barrier<threads>(1);  // nobody reads q and k any more
        scale_rows<outputs>(stage, c);
      }
      if constexpr (decays) {
        const float end = sum_at(c, layout.tokens - 1);
        all += end;
        if (thread_ == 0)
          store_shared(stage.begin + layout.factor, __float_as_uint(device::exp2_fast(end)));
      }
      publish_shared();
      barrier_arrive(stage.ready());
    }
    if (!outputs && decays && thread_ == 0 && block_.slice == 0)
      static_cast<float*>(p_.base.work[work_decays])[block_.place(block_.segment)] = all;
  }

 private:
  static constexpr bool decays = trait::decay != no_decay;
  static constexpr int threads = 128 * layout.preparers;

  // --- sums of log2 decays, by the first warp: two tokens a lane, a chunk ahead

  __device__ __forceinline__ float gate_of(int token) const {
    if (token >= block_.tokens) return 0.0f;
    if constexpr (trait::decay == head_decay)
      return log2_decay(p_.base.log_decay[block_.head]);
    else
      return log2_decay(log_decay(device::to_float(static_cast<const io_t*>(
          p_.base.g)[block_.batch * p_.base.gate_strides.batch +
                     (block_.first_token + token) * p_.base.gate_strides.seq +
                     block_.head * p_.base.gate_strides.heads])));
  }
  __device__ __forceinline__ void fetch_gates(int c) {
    const int token = c * layout.tokens + 2 * lane_;
    next_ = {gate_of(token), gate_of(token + 1)};
  }
  __device__ __forceinline__ unsigned sums_at(int c, int token) const {
    return block_.shared + layout.token_sums + 4 * (c % 2 * layout.tokens + token);
  }
  __device__ __forceinline__ float sum_at(int c, int token) const {
    return load_float(sums_at(c, token));
  }
  __device__ __forceinline__ void publish_sums(int c) const {
    float sum = next_.x + next_.y;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float before = __shfl_up_sync(0xffffffffu, sum, distance);
      if (lane_ >= distance) sum += before;
    }
    store_floats(sums_at(c, 2 * lane_), {sum - next_.y, sum});
  }

  // --- scores

  __device__ __forceinline__ void store_scores(const Stage& stage, int c,
                                               const float (&scores)[8 * ScoreWarp::pairs]) const {
    const int row = warp_.row();
    const float sums[2] = {decays ? sum_at(c, row) : 0.0f, decays ? sum_at(c, row + 8) : 0.0f};
    warp_.store_all(stage, scores, [&](float score, int i, int j) {
      if (j > i) return 0.0f;
      if constexpr (decays) score *= device::exp2_fast(sums[i != row] - sum_at(c, j));
      return score;
    });
  }

  // --- q and k, 16 bytes at a time: a row has one factor, wherever its pieces stand

  static __device__ __forceinline__ void scale_piece(unsigned at, float factor) {
    unsigned words[4];
    load_words(at, words);
#pragma unroll
    for (unsigned& word : words) word = pack(low_of(word) * factor, high_of(word) * factor);
    store_words(at, words);
  }

  template <bool outputs>
  __device__ __forceinline__ void scale_rows(const Stage& stage, int c) const {
    const int valid = block_.valid(c);
    const float end = decays ? sum_at(c, layout.tokens - 1) : 0.0f;
    constexpr int rows = threads / 8;  // at once
#pragma unroll
    for (int i = 0; i < layout.tokens / rows; ++i) {
      const int row = i * rows + thread_ / 8;
      const bool missing = trait::ragged != 0 && row >= valid;  // the next sequence's
      if (!decays && !missing) continue;
      const float sum = decays ? sum_at(c, row) : 0.0f;
      const float to_begin = device::exp2_fast(sum);
      const float to_end = missing ? 0.0f : device::exp2_fast(end - sum);
#pragma unroll
      for (int t = 0; t < layout.key_tiles; ++t) {
        const unsigned at = t * layout.tile_bytes + row * 128 + thread_ % 8 * 16;
        if constexpr (outputs && decays) scale_piece(stage.begin + layout.q + at, to_begin);
        scale_piece(stage.begin + layout.k + at, to_end);
      }
    }
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  ScoreWarp warp_;
  int thread_, lane_;
  float2 next_ = {0.0f, 0.0f};  // gates of two tokens of the chunk that comes
};

}  // namespace gla_bench::linear_recurrence::sm90
