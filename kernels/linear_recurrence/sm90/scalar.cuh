#pragma once
// The warps of chunk_sm90 that prepare chunks where all keys of a token share its decay, or nothing
// decays.
//
// Scores come from q and k as they are. With b the sums of log2 decays since the beginning of the
// chunk, each score is multiplied by 2^(b_i - b_j), which is at most 1. Afterwards q is scaled by
// 2^b, to the beginning of the chunk. k is scaled by 2^(b_end - b), to its end, or, where only
// states are computed, to the end of the segment. All of these are finite for every decay, so no
// vote is needed.

#include "linear_recurrence/sm90/scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class ScalarPreparation {
 public:
  __device__ __forceinline__ ScalarPreparation(const ChunkSm90Params& p, const Block& block)
      : p_(p), block_(block), thread_(preparing_thread()), lane_(threadIdx.x % 32) {}

  template <bool outputs>
  __device__ __forceinline__ void run() {
    const auto chunk_at = [&](int step) { return outputs ? step : block_.backwards(step); };
    if (decays && thread_ < 32) fetch_gates(chunk_at(first_chunk()));
    float later = 0.0f;  // without outputs: log2 of what the later chunks decay by
    for (int step = first_chunk(); step < block_.chunks; step += every) {
      const int c = chunk_at(step);
      const Stage stage = block_.stage(step);
      if (decays && thread_ < 32) {
        publish_sums(c);
        fetch_gates(chunk_at(step + every));
      }
      wait_for_tiles(stage, step);
      float scores[8 * ScoreWarp::pairs];
      if constexpr (outputs) warp_.issue(stage, scores);
      if constexpr (decays) named_barrier<threads>(preparing_barrier());  // the sums are there
      if constexpr (outputs) finish_scores(stage, c, scores);
      if constexpr (decays || trait::ragged != 0) {
        if constexpr (outputs)
          named_barrier<threads>(preparing_barrier());  // nobody reads q and k any more
        scale_rows<outputs>(stage, c, later);
      }
      if constexpr (decays) {
        const float end = sum_at(c, layout.tokens - 1);
        if constexpr (!outputs) later += end;
        if (thread_ == 0) {
          store_shared(stage.begin + layout.factor, __float_as_uint(device::exp2_fast(end)));
          if (block_.between()) store_shared(block_.decays(c), __float_as_uint(end));
        }
      }
      const bool last = !outputs && later < enough;  // nothing of the earlier chunks is left
      if (!outputs && thread_ == 0) store_shared(stage.begin + layout.last, last ? 1 : 0);
      publish_shared();
      barrier_arrive(stage.ready());
      if (last) break;
    }
    if (!outputs && decays && thread_ == 0 && block_.slice == 0 && block_.rank == 0)
      static_cast<float*>(p_.base.work[work_decays])[block_.place(block_.segment)] = later;
  }

 private:
  static constexpr bool decays = trait::decay != no_decay;
  static constexpr int threads = preparing_threads;

  // --- sums of log2 decays. The first warp forms them, with two tokens in each lane. It loads the
  // gates of the next chunk while a chunk is worked on, and first uses them when that chunk begins

  struct Gate {
    bool there = false;
    float decay = 0.0f;  ///< the head's
    gate_t raw;          ///< the token's
  };

  __device__ __forceinline__ Gate fetch_gate(int token) const {
    Gate gate;
    gate.there = token >= 0 && token < block_.tokens;
    if (!gate.there) return gate;
    if constexpr (trait::decay == head_decay)
      gate.decay = p_.base.log_decay[block_.head];
    else
      gate.raw = static_cast<const gate_t*>(
          p_.base.g)[block_.batch * p_.base.gate_strides.batch +
                     (block_.first_token + token) * p_.base.gate_strides.seq +
                     block_.head * p_.base.gate_strides.heads];
    return gate;
  }
  static __device__ __forceinline__ float bits(const Gate& gate) {
    if (!gate.there) return 0.0f;
    if constexpr (trait::decay == head_decay) return log2_decay(gate.decay);
    return log2_decay(log_decay(device::to_float(gate.raw)));
  }
  __device__ __forceinline__ void fetch_gates(int c) {
    const int token = c * layout.tokens + 2 * lane_;
    next_[0] = fetch_gate(token), next_[1] = fetch_gate(token + 1);
  }
  __device__ __forceinline__ unsigned sums_at(int c, int token) const {
    return block_.scratch() + layout.token_sums + 4 * (c / every % 2 * layout.tokens + token);
  }
  __device__ __forceinline__ float sum_at(int c, int token) const {
    return load_float(sums_at(c, token));
  }
  __device__ __forceinline__ void publish_sums(int c) const {
    const float first = bits(next_[0]), second = bits(next_[1]);
    float sum = first + second;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float before = __shfl_up_sync(0xffffffffu, sum, distance);
      if (lane_ >= distance) sum += before;
    }
    store_floats(sums_at(c, 2 * lane_), {sum - second, sum});
  }

  // --- scores

  __device__ __forceinline__ void finish_scores(const Stage& stage, int c,
                                                float (&scores)[8 * ScoreWarp::pairs]) const {
    // While the products are under way, loads the sums of this thread's rows, and those of its
    // columns in blocks of eight.
    float rows[2], columns[4 * ScoreWarp::pairs];
    if constexpr (decays) {
      rows[0] = sum_at(c, warp_.row()), rows[1] = sum_at(c, warp_.row() + 8);
#pragma unroll
      for (int n = 0; n < 2 * ScoreWarp::pairs; ++n) {
        const int block = 2 * ScoreWarp::pairs * warp_.group() + n;
        const float2 two = load_floats(sums_at(c, 8 * block + 2 * (lane_ % 4)));
        columns[2 * n] = two.x, columns[2 * n + 1] = two.y;
      }
    }
    products_wait<0>();
    pin(scores);
    if constexpr (decays) {
#pragma unroll
      for (int e = 0; e < 8 * ScoreWarp::pairs; ++e)
        scores[e] *= device::exp2_fast(rows[e / 2 % 2] - columns[e / 4 * 2 + e % 2]);
    }
    // Scores above the diagonal may have overflowed. They are dropped, not multiplied.
    warp_.store_all(stage, scores, [](float score, int i, int j) { return j > i ? 0.0f : score; });
  }

  // --- q and k, 16 bytes at a time. A row has one factor, so it does not matter where its pieces
  // stand

  static __device__ __forceinline__ void scale_words(unsigned (&words)[4], float factor) {
#pragma unroll
    for (unsigned& word : words) word = pack(low_of(word) * factor, high_of(word) * factor);
  }

  template <bool outputs>
  __device__ __forceinline__ void scale_rows(const Stage& stage, int c, float later) const {
    const int valid = block_.valid(c);
    const float end = decays ? sum_at(c, layout.tokens - 1) : 0.0f;
    constexpr int rows = threads / 8;  // at once
    constexpr bool with_q = outputs && decays;
#pragma unroll
    for (int i = 0; i < layout.tokens / rows; ++i) {
      const int row = i * rows + thread_ / 8;
      const bool missing = trait::ragged != 0 && row >= valid;  // a row of the next sequence
      if (!decays && !missing) continue;
      const unsigned at = stage.begin + row * 128 + thread_ % 8 * 16;
      unsigned q[layout.key_tiles][4], k[layout.key_tiles][4];
      const float sum = decays ? sum_at(c, row) : 0.0f;
#pragma unroll
      for (int t = 0; t < layout.key_tiles; ++t) {
        if constexpr (with_q) load_words(at + layout.q + t * layout.tile_bytes, q[t]);
        load_words(at + layout.k + t * layout.tile_bytes, k[t]);
      }
      const float to_begin = device::exp2_fast(sum);
      const float to_end = device::exp2_fast(outputs ? end - sum : end - sum + later);
#pragma unroll
      for (int t = 0; t < layout.key_tiles; ++t) {
        if constexpr (with_q) scale_words(q[t], to_begin);
        scale_words(k[t], to_end);
        if constexpr (trait::ragged != 0) {
#pragma unroll
          for (unsigned& word : k[t]) word = missing ? 0u : word;  // also where it is NaN
        }
      }
#pragma unroll
      for (int t = 0; t < layout.key_tiles; ++t) {
        if constexpr (with_q) store_words(at + layout.q + t * layout.tile_bytes, q[t]);
        store_words(at + layout.k + t * layout.tile_bytes, k[t]);
      }
    }
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  ScoreWarp warp_;
  int thread_, lane_;
  Gate next_[2];  // of two tokens of the next chunk
};

}  // namespace gla_bench::linear_recurrence::sm90
