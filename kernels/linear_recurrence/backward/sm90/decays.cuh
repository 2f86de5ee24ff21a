#pragma once
// The decays of a chunk as a warp has them that owns 16 keys: each thread has two keys, and of each
// 16 of the 64 tokens, in the order of a product's accumulators [keys, tokens].

#include "linear_recurrence/backward/sm90/block.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// Element (n, r, e) belongs to token 8 n + 2 (lane % 4) + e and key lane / 4 + 8 r.
__device__ __forceinline__ constexpr int at(int n, int r, int e) {
  return 4 * n + 2 * r + e;
}

/// Sums over all tokens before a thread's pair of tokens, for each n from the first on, of the
/// pairs' sums: act(n, sum before). Returns the sum over all tokens.
template <class Pair, class Act>
__device__ __forceinline__ float sum_forwards(Pair pair, Act act) {
  const int quarter = static_cast<int>(threadIdx.x) % 4;
  float base = 0.0f;
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const float own = pair(n);
    float sum = own;
    float before = __shfl_up_sync(0xffffffffu, sum, 1);
    if (quarter >= 1) sum += before;
    before = __shfl_up_sync(0xffffffffu, sum, 2);
    if (quarter >= 2) sum += before;
    act(n, base + (sum - own));
    base += __shfl_sync(0xffffffffu, sum, 3, 4);
  }
  return base;
}
/// The same from the last token on: act(n, sum behind).
template <class Pair, class Act>
__device__ __forceinline__ float sum_backwards(Pair pair, Act act) {
  const int quarter = static_cast<int>(threadIdx.x) % 4;
  float base = 0.0f;
#pragma unroll
  for (int n = 7; n >= 0; --n) {
    const float own = pair(n);
    float sum = own;
    float behind = __shfl_down_sync(0xffffffffu, sum, 1);
    if (quarter < 3) sum += behind;
    behind = __shfl_down_sync(0xffffffffu, sum, 2);
    if (quarter < 2) sum += behind;
    act(n, base + (sum - own));
    base += __shfl_sync(0xffffffffu, sum, 0, 4);
  }
  return base;
}

/// The decays of a warp's keys in one chunk, in bits, where each key has its own.
class KeyDecays {
 public:
  /// `tiles`: shared address of the group's tiles of gates. `column`: the first of the warp's keys
  /// among the 64 of the group. `valid`: tokens that exist; all others do not decay.
  __device__ __forceinline__ void load(unsigned tiles, unsigned, int column, const Sequence&,
                                       int valid) {
    tiles_ = tiles, column_ = column, valid_ = valid, strongest_ = 0.0f;
    Columns gates;
    if constexpr (!wide_gates) gates.load(Columns::place(tiles_, column_));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          sums_[at(n, r, e)] = bits(gates.at(n, r, e), n, r, e);
          strongest_ = fminf(strongest_, sums_[at(n, r, e)]);
        }
      end_[r] = sum_forwards([&](int n) { return sums_[at(n, r, 0)] + sums_[at(n, r, 1)]; },
                             [&](int n, float before) {
                               sums_[at(n, r, 0)] += before;
                               sums_[at(n, r, 1)] += sums_[at(n, r, 0)];
                             });
      middle_[r] = __shfl_sync(0xffffffffu, sums_[at(3, r, 1)], 3, 4);
    }
  }
  /// Bits from the begin of the chunk up to and with this token.
  __device__ __forceinline__ float sum(int n, int r, int e) const {
    return sums_[at(n, r, e)];
  }
  /// Bits up to where a query reads the state: with the token's own or, with a bonus, without.
  __device__ __forceinline__ float sum_of_query(int n, int r, int e, float own) const {
    return bonus ? sum(n, r, e) - own : sum(n, r, e);
  }
  __device__ __forceinline__ float end(int r) const {
    return end_[r];
  }
  __device__ __forceinline__ float middle(int r) const {
    return middle_[r];
  }
  /// Whether nothing is left of one of the thread's keys behind one of its tokens.
  __device__ __forceinline__ bool any_ends() const {
    return !(strongest_ > strongest);
  }
  /// Whether factors of both halves of the chunk could leave the range of bfloat16 products, of the
  /// thread's key r.
  __device__ __forceinline__ bool strong(int r) const {
    return middle_[r] < -most || end_[r] - middle_[r] < -most;
  }
  __device__ __forceinline__ bool strong() const {
    return strong(0) || strong(1);
  }
  /// The own decays of tokens 16 m to 16 m + 15 once more. They are where they arrived until the
  /// chunk is finished.
  class Own {
   public:
    __device__ __forceinline__ Own(const KeyDecays& of, int m) : of_(of) {
      if constexpr (!wide_gates) gates_.load(Columns::place(of.tiles_, of.column_) + m * 2048);
    }
    __device__ __forceinline__ float bits(int n, int r, int e) const {
      return of_.bits(gates_.at(n % 2, r, e), n, r, e);
    }

   private:
    const KeyDecays& of_;
    SomeColumns<1> gates_;
  };

 private:
  /// Bits that half a chunk may decay by. Factors reach 2^90, which leaves 2^37 for what they
  /// multiply and for sums over tokens. The product of two such factors is infinite, but it belongs
  /// to a pair that no query sees. With 62 bits, which keep such products finite, one chunk in 27
  /// of the regime `rwkv` and 128 keys was strong; with 90 it is one in 100.
  static constexpr float most = 90.0f;

  /// Bits of one token. `gate`: of a decay in bfloat16.
  __device__ __forceinline__ float bits(float gate, int n, int r, int e) const {
    const int token = 8 * n + 2 * (static_cast<int>(threadIdx.x) % 4) + e;
    if constexpr (wide_gates) {
      const unsigned key = column_ + threadIdx.x % 32 / 4 + 8 * r;
      gate = load_float(tiles_ + key / 32 * tile_bytes + swizzled(token, key % 32 * 4));
    }
    if (trait::raw_gate != 0 && token >= valid_) return 0.0f;
    return log2_decay(log_decay(gate));
  }

  unsigned tiles_ = 0;
  int column_ = 0, valid_ = chunk;
  float sums_[32];
  float end_[2], middle_[2], strongest_ = 0.0f;
};

/// The decays of one chunk, in bits, where all keys have the same, or none.
class TokenDecays {
 public:
  /// `table`: shared address of the tokens' decays, where there is one for each token. `valid`:
  /// tokens that exist; all others do not decay.
  __device__ __forceinline__ void load(unsigned, unsigned table, int, const Sequence& of,
                                       int valid) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (trait::decay == head_decay) {
      each_ = load_float(table), valid_ = static_cast<float>(valid);
      first_ = static_cast<float>(2 * (lane % 4) + 1);
    } else if constexpr (decays) {
#pragma unroll
      for (int e = 0; e < 2; ++e) own_[e] = load_float(table + 4 * (2 * lane + e));
      float sum = own_[0] + own_[1];
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance) sum += before;
      }
      pair_[0] = sum - own_[1], pair_[1] = sum;
      end_ = __shfl_sync(0xffffffffu, sum, 31);
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          sums_[2 * n + e] = __shfl_sync(0xffffffffu, pair_[e], 4 * n + lane % 4);
    }
  }
  /// Bits from the begin of the chunk up to and with the token of an element.
  __device__ __forceinline__ float sum(int n, int, int e) const {
    if constexpr (trait::decay == head_decay)
      return fminf(first_ + static_cast<float>(8 * n + e), valid_) * each_;
    else
      return decays ? sums_[2 * n + e] : 0.0f;
  }
  __device__ __forceinline__ float end(int) const {
    if constexpr (trait::decay == head_decay)
      return valid_ * each_;
    else
      return decays ? end_ : 0.0f;
  }
  /// The same up to any token.
  __device__ __forceinline__ float sum_of(int token) const {
    if constexpr (!decays) {
      return 0.0f;
    } else if constexpr (trait::decay == head_decay) {
      return fminf(static_cast<float>(token + 1), valid_) * each_;
    } else {
      const float even = __shfl_sync(0xffffffffu, pair_[0], token / 2);
      const float odd = __shfl_sync(0xffffffffu, pair_[1], token / 2);
      return token % 2 == 0 ? even : odd;
    }
  }
  /// The decay of token 2 lane + e.
  __device__ __forceinline__ float own(int e) const {
    return own_[e];
  }

 private:
  float own_[2], pair_[2];  // of tokens 2 lane and 2 lane + 1
  float sums_[16], end_;
  float each_, valid_, first_;  // a constant decay, the tokens that have it, and the thread's first
};

using ChunkDecays = device::Choice<key_gates, KeyDecays, TokenDecays>::type;

}  // namespace gla_bench::linear_recurrence::backward::sm90
