#pragma once
// The gradients of a chunk's q, k and gates from those of its scores, in float32. A thread owns 16
// tokens and one key (tokens.cuh).
//
// What a query reads comes to its block of 16 tokens block by block: acc_i is the sum over all that
// was written before a block b, decayed up to there. It starts with what is read of the state. On
// the way over block b it decays by the block's total and gains what the block's tokens wrote. What
// keys get from later queries comes the other way, and starts with the gradient of the state behind
// the chunk.
//
// The gradient of a gate is the sum over the pairs of a writer and a reader that it lies between:
//   - writer and reader in its own block: pair by pair,
//   - the reader in its block, the writer or the state before it: q (.) dq of the readers from the
//     gate on,
//   - the writer in its block, the reader or the gradient of the state behind it: k (.) dk of the
//     writers before the gate,
//   - both outside of its block: what passes the whole block. acc has all of these at block b.
// No part is a difference of larger ones, so that strong decays leave digits.

#include "linear_recurrence/backward/chunk/tokens.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

/// What a chunk adds to the sums over the tokens of its head, of this thread's tokens and key.
struct OwnSums {
  double bonus = 0.0, constant = 0.0;
};

struct Gradients {
  const Chunk& at;
  const Column& own;
  float dq[16], dk[16], gate[16];

  /// Needs Panels::store() and the totals, behind a barrier. Ends without one.
  __device__ __forceinline__ void form(OwnSums& sums) {
    store_decayed();
    __syncthreads();
    for_readers();
    for_writers();
    __syncthreads();
    add_passing();
    for_pairs();
    if constexpr (bonus) for_own_tokens(sums);
  }

  /// Stores the gradients. Begins with a barrier where gates are per token.
  __device__ __forceinline__ void store(OwnSums& sums) {
    const int key = at.key_of(own_key());
    if (key < keys) {
#pragma unroll
      for (int t = 0; t < 16; ++t) {
        const int token = 16 * block_of_warp() + t;
        if (token >= at.tokens) break;  // what passes the gates of tokens that do not exist
        if constexpr (trait::decay == head_decay) sums.constant += static_cast<double>(gate[t]);
        at.of.store_query(at.first + token, key, dq[t] * feature_slope(own.q[t]));
        at.of.store_key(at.first + token, key, dk[t] * feature_slope(own.k[t]));
        if constexpr (key_gates) at.of.store_key_gate(at.first + token, key, gate[t]);
      }
    }
    if constexpr (trait::decay == token_decay) store_token_gates();
  }

 private:
  static constexpr int apart = bonus ? 1 : 0;  // the first token that reads j through the state

  __device__ __forceinline__ float* tile(int offset, int block) const {
    return at.floats(offset) + 16 * block * block_k + own_key();
  }
  /// The gradients of 16 scores: of token i with those of a block, or of those with token j.
  __device__ __forceinline__ const float* changes(int i, int block) const {
    return at.floats(layout.score_changes) + i * layout.square_ld + 16 * block;
  }
  __device__ __forceinline__ const float* transposed(int j, int block) const {
    return at.floats(layout.transposed) + j * layout.square_ld + 16 * block;
  }
  /// What passes block b whole, from all before it to readers in block i, and from writers in block
  /// j to the gradient behind the chunk.
  __device__ __forceinline__ float& passing(int i, int b) const {
    return at.floats(layout.passing)[(i * blocks + b) * block_k + own_key()];
  }
  __device__ __forceinline__ float& behind(int j) const {
    return at.floats(layout.behind)[j * block_k + own_key()];
  }

  __device__ __forceinline__ void store_decayed() const {
    float prefix[16], suffix[16];
    own.prefix(prefix);
    own.suffix(suffix);
    float *q = tile(layout.decayed_q, block_of_warp()),
          *k = tile(layout.decayed_k, block_of_warp());
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      q[t * block_k] = own.q[t] * prefix[t];
      k[t * block_k] = own.k[t] * suffix[t];
    }
  }

  /// acc[t] += the sum over the 16 rows of another block of x[row] weights(row)[t].
  template <class Weights>
  __device__ __forceinline__ static void add_block(float (&acc)[16], const float* x,
                                                   Weights weights) {
#pragma unroll 4
    for (int n = 0; n < 16; ++n) {
      const float by = x[n * block_k];
      const float4* row = reinterpret_cast<const float4*>(weights(n));
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        const float4 w = row[m];
        acc[4 * m] = fmaf(w.x, by, acc[4 * m]);
        acc[4 * m + 1] = fmaf(w.y, by, acc[4 * m + 1]);
        acc[4 * m + 2] = fmaf(w.z, by, acc[4 * m + 2]);
        acc[4 * m + 3] = fmaf(w.w, by, acc[4 * m + 3]);
      }
    }
  }

  __device__ __forceinline__ static float dot(const float (&x)[16], const float (&y)[16]) {
    float sum = 0.0f;
#pragma unroll
    for (int t = 0; t < 16; ++t) sum = fmaf(x[t], y[t], sum);
    return sum;
  }

  __device__ __forceinline__ void for_readers() {
    const int block = block_of_warp();
    float acc[16], decayed[16];
    const float *from = tile(layout.read, block), *q = tile(layout.decayed_q, block);
#pragma unroll
    for (int t = 0; t < 16; ++t) acc[t] = from[t * block_k], decayed[t] = q[t * block_k];
    for (int b = 0; b < block; ++b) {
      float between = 1.0f;  // from the start of block b to that of this block
      for (int n = b; n < block; ++n) between *= at.total(n, own_key());
      passing(block, b) = between * dot(decayed, acc);
      const float total = at.total(b, own_key());
#pragma unroll
      for (int t = 0; t < 16; ++t) acc[t] *= total;
      add_block(acc, tile(layout.decayed_k, b),
                [&](int n) { return transposed(16 * b + n, block); });
    }
    own.prefix(decayed);
    float run = 0.0f;
#pragma unroll
    for (int t = 15; t >= 0; --t) {
      dq[t] = decayed[t] * acc[t];
      const float part = own.q[t] * dq[t];
      gate[t] = bonus ? run : run + part;
      run += part;
    }
  }

  __device__ __forceinline__ void for_writers() {
    const int block = block_of_warp();
    float acc[16], decayed[16];
    const float *from = tile(layout.written, block), *k = tile(layout.decayed_k, block);
#pragma unroll
    for (int t = 0; t < 16; ++t) acc[t] = from[t * block_k], decayed[t] = k[t * block_k];
    float between = 1.0f;  // from the end of this block to that of the chunk
    for (int n = block + 1; n < blocks; ++n) between *= at.total(n, own_key());
    behind(block) = between * dot(decayed, acc);
    for (int b = blocks - 1; b > block; --b) {
      const float total = at.total(b, own_key());
#pragma unroll
      for (int t = 0; t < 16; ++t) acc[t] *= total;
      add_block(acc, tile(layout.decayed_q, b), [&](int n) { return changes(16 * b + n, block); });
    }
    own.suffix(decayed);
    float run = 0.0f;
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      dk[t] = decayed[t] * acc[t];
      gate[t] += run;
      run = fmaf(own.k[t], dk[t], run);
    }
  }

  __device__ __forceinline__ void add_passing() {
    const int block = block_of_warp();
    float sum = at.whole(own_key()) * at.floats(layout.through)[own_key()];
    for (int i = block + 1; i < blocks; ++i) sum += passing(i, block);
    for (int j = 0; j < block; ++j) sum += behind(j);
#pragma unroll
    for (int t = 0; t < 16; ++t) gate[t] += sum;
  }

  /// Pairs of tokens of this block. `reach` of token i is k_j with the decays up to i; `sum` is
  /// what the readers from i on take of it.
  __device__ __forceinline__ void for_pairs() {
    const int block = block_of_warp();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      if (j + apart > 15) break;
      float weights[16], reach[16];
      const float4* row = reinterpret_cast<const float4*>(transposed(16 * block + j, block));
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        const float4 w = row[m];
        weights[4 * m] = w.x, weights[4 * m + 1] = w.y;
        weights[4 * m + 2] = w.z, weights[4 * m + 3] = w.w;
      }
#pragma unroll
      for (int i = j + apart; i < 16; ++i) {
        reach[i] = i == j + apart ? own.k[j] : reach[i - 1] * own.e[i - apart];
        dq[i] = fmaf(weights[i], reach[i], dq[i]);
      }
      float sum = 0.0f;
#pragma unroll
      for (int i = 15; i >= j + apart; --i) {
        sum = fmaf(weights[i], own.q[i], sum);
        if (i == j + apart) break;
        gate[i - apart] = fmaf(reach[i], sum, gate[i - apart]);
        sum *= own.e[i - apart];
      }
      dk[j] += sum;
    }
  }

  __device__ __forceinline__ void for_own_tokens(OwnSums& sums) {
    const int key = at.key_of(own_key());
    if (key >= keys) return;
    const float u = at.of.bonus_of(key);
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      const float change = transposed(16 * block_of_warp() + t, block_of_warp())[t];
      dq[t] = fmaf(change * u, own.k[t], dq[t]);
      dk[t] = fmaf(change * u, own.q[t], dk[t]);
      sums.bonus += static_cast<double>(change * own.q[t] * own.k[t]);
    }
  }

  /// Adds up the keys of the slice.
  __device__ __forceinline__ void store_token_gates() {
    float* to = at.floats(layout.gates);
    const float sum = sum_over_lanes(gate);
    if (lane() < 16) to[group_of_warp() * chunk + 16 * block_of_warp() + lane()] = sum;
    __syncthreads();
    for (int t = static_cast<int>(threadIdx.x); t < at.tokens; t += threads) {
      float all = 0.0f;
#pragma unroll
      for (int group = 0; group < groups; ++group) all += to[group * chunk + t];
      gate_part(at.of, at.slice, at.first + t) = all;
    }
  }
};

/// Keeps what the tokens of a task add to sums over the tokens of their head. Begins with a
/// barrier.
__device__ inline void keep_sums(const Chunk& at, long long task, OwnSums sums) {
  double* shared = reinterpret_cast<double*>(at.shared + layout.sums);
  __syncthreads();
  if constexpr (bonus) {
    shared[block_of_warp() * block_k + own_key()] = sums.bonus;
    __syncthreads();
    for (int n = static_cast<int>(threadIdx.x); n < block_k; n += threads) {
      double sum = 0.0;
      for (int b = 0; b < blocks; ++b) sum += shared[b * block_k + n];
      if (at.key_of(n) < keys) sum_of(at.of.g, task, at.key_of(n)) = sum;
    }
  }
  if constexpr (trait::decay == head_decay) {
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
      sums.constant += __shfl_xor_sync(0xffffffffu, sums.constant, other);
    if (lane() == 0) shared[warp()] = sums.constant;
    __syncthreads();
    if (threadIdx.x == 0) {
      double sum = 0.0;
      for (int w = 0; w < warps; ++w) sum += shared[w];
      sum_of(at.of.g, task, keys + at.slice) = sum;
    }
  }
}

}  // namespace gla_bench::linear_recurrence::backward::chunked
