#pragma once
// The keys of a chunk whose decays are strong, where they are few among mild ones: what pairs of
// tokens have of them, pair by pair.
//
// A strong key's frames, 0 for queries and the chunk's end for keys, are right for all that crosses
// the chunk's borders. Of pairs of tokens of the chunk the products then have 2^end of what is
// meant, which is nothing: half of a strong chunk decays by more than 90 bits, so that all of it
// rounds away. What is meant, q k 2^(b' - b), is added here: sums over 64 x 64 pairs of tokens for
// one key, where the levels of strong.cuh take six products of all keys.

#include "linear_recurrence/backward/sm90/key_parts.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// Stands for no such keys: all are in frames that serve the chunk's tokens, too.
struct NoStrongKeys {
  static constexpr bool any = false;
};

class StrongKeys {
 public:
  static constexpr bool any = true;

  /// `words`: shared address of two words for each warp. `level`: of the levels' tile, in which the
  /// lists are, behind the parts of A's diagonal. `strong`: whether the thread's keys are. All
  /// warps that multiply must call.
  __device__ __forceinline__ StrongKeys(unsigned words, unsigned level, const bool (&strong)[2])
      : begin_(level + parts_bytes) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    unsigned masks[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      masks[r] = __ballot_sync(0xffffffffu, strong[r] && lane % 4 == 0);
      if (lane == 0) store_shared(words + 4 * (2 * warp + r), masks[r]);
    }
    named_barrier<consumers>(1);
    int before = 0;
    for (unsigned word = 0; word < 8 * groups; ++word) {
      const int in_word = __popc(load_shared(words + 4 * word));
      if (word < 2 * warp) before += in_word;
      count_ += in_word;
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int number = before + __popc(masks[r] & ((1u << lane / 4 * 4) - 1));
      number_[r] = strong[r] ? number : -1;
      before += __popc(masks[r]);
    }
  }

  /// Whether the lists have room for all.
  __device__ __forceinline__ bool few() const {
    return count_ <= most;
  }
  __device__ __forceinline__ bool has(int r) const {
    return number_[r] >= 0;
  }

  /// What there is of a strong key and a token. The first four are given (put), the others are sums
  /// over the chunk's tokens (form).
  enum Entry {
    query,           ///< scale q
    key,             ///< k
    until_query,     ///< b'
    until_key,       ///< b
    query_gradient,  ///< sum over keys j of dA k 2^(b' - b)
    key_gradient,    ///< sum over queries i of dA scale q 2^(b' - b)
    entries
  };
  __device__ __forceinline__ void put(int r, int token, Entry entry, float x) const {
    store_float(place(number_[r], entry, token), x);
  }
  __device__ __forceinline__ float get(int r, int token, Entry entry) const {
    return load_float(place(number_[r], entry, token));
  }

  /// What the strong keys add to A's element (i, j), i not before j.
  __device__ __forceinline__ float score(int i, int j) const {
    float sum = 0.0f;
    for (int s = 0; s < count_; ++s)
      sum = fmaf(of(s, query, i) * of(s, key, j), factor(s, i, j), sum);
    return sum;
  }

  /// Forms the sums over the chunk's tokens. `d_scores`: the tile of dA, [queries, keys]. Four
  /// lanes share a token, as a query and as a key.
  __device__ __forceinline__ void form(unsigned d_scores) const {
    const int thread = static_cast<int>(threadIdx.x) - 128, quarter = thread % 4;
    for (int s = 0; s < count_; ++s)
      for (int t = thread / 4; t < chunk; t += consumers / 4) {
        float sums[2] = {};
        for (int other = quarter; other < chunk; other += 4) {
          if (sees(t, other))
            sums[0] =
                fmaf(d_score(d_scores, t, other) * of(s, key, other), factor(s, t, other), sums[0]);
          if (sees(other, t))
            sums[1] = fmaf(d_score(d_scores, other, t) * of(s, query, other), factor(s, other, t),
                           sums[1]);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], 1);
          sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], 2);
          if (quarter == i)
            store_float(place(s, static_cast<Entry>(query_gradient + i), t), sums[i]);
        }
      }
  }

 private:
  static constexpr int list_bytes = entries * chunk * 4;
  static constexpr int parts_bytes = 4 * groups * chunk * 4;
  static constexpr int most = (layout.key_tiles * tile_bytes - parts_bytes) / list_bytes;

  /// Whether dA has an element of a query and a key.
  __device__ __forceinline__ static bool sees(int i, int j) {
    return bonus ? i > j : i >= j;
  }
  __device__ __forceinline__ static float d_score(unsigned tile, int i, int j) {
    const unsigned pair = load_shared(tile + swizzled(i, 4 * (j / 2)));
    return j % 2 == 0 ? low_of(pair) : high_of(pair);
  }
  __device__ __forceinline__ unsigned place(int number, Entry entry, int token) const {
    return begin_ + number * list_bytes + (entry * chunk + token) * 4;
  }
  __device__ __forceinline__ float of(int number, Entry entry, int token) const {
    return load_float(place(number, entry, token));
  }
  /// 2^(b' - b).
  __device__ __forceinline__ float factor(int number, int i, int j) const {
    return device::exp2_fast(of(number, until_query, i) - of(number, until_key, j));
  }

  unsigned begin_;
  int number_[2];  // of the thread's keys among the strong ones, or -1
  int count_ = 0;
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
