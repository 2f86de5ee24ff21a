#pragma once
// The scores of a chunk with itself, scale sum_k q_ik k_jk e^(g_(j+1)k + .. + g_ik) for i >= j, as
// operands of their products with rows of v or do. They are stored by rows of j.
//
// Inside a block of 16 tokens a thread multiplies one key's decays one by one, and its warp adds up
// the keys. Between blocks, q decays from the start of its block and k to the end of its own; the
// blocks in between decay q once more. These go through the tensor cores.

#include "linear_recurrence/backward/chunk/tokens.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

struct Scores {
  const Chunk& at;
  const Column& own;

  /// Forms all scores. Needs the totals of all blocks, after a barrier; ends with a barrier.
  __device__ __forceinline__ void form() const {
    float x[16];
    own.suffix(x);
    operand_t* k_tile = at.operands(layout.k_tile) + 16 * block_of_warp() * key_ld + own_key();
#pragma unroll
    for (int t = 0; t < 16; ++t) k_tile[t * key_ld] = Ops::rounded(own.k[t] * x[t]);
    form_diagonal();
    __syncthreads();
    form_others();
    __syncthreads();
    store();
    __syncthreads();
  }

 private:
  /// This group's part of the score of token i with token j.
  __device__ __forceinline__ float& part(int group, int i, int j) const {
    return at.floats(layout.partial_scores)[(group * chunk + j) * layout.square_ld + i];
  }

  __device__ __forceinline__ void form_diagonal() const {
    constexpr int apart = bonus ? 1 : 0;  // the first token that reads j through the state
    const float u = bonus_of_key();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      float sum[16] = {}, decayed = own.k[j];
      if constexpr (bonus) sum[j] = own.q[j] * u * own.k[j];
#pragma unroll
      for (int i = j + apart; i < 16; ++i) {
        if (i > j + apart) decayed *= own.e[i - apart];
        sum[i] = own.q[i] * decayed;
      }
      const float all = sum_over_lanes(sum);
      if (lane() < 16)
        part(group_of_warp(), 16 * block_of_warp() + lane(), 16 * block_of_warp() + j) = all;
    }
  }

  __device__ __forceinline__ float bonus_of_key() const {
    const int key = at.key_of(own_key());
    return bonus && key < keys ? at.of.bonus_of(key) : 0.0f;
  }

  /// Scores of this warp's tokens with those of earlier blocks, over its keys.
  __device__ __forceinline__ void form_others() const {
    const int row = 16 * block_of_warp(), column = 32 * group_of_warp();
    float decayed[16];
    own.prefix(decayed);
#pragma unroll
    for (int t = 0; t < 16; ++t) decayed[t] *= own.q[t];
    operand_t* q_tile = at.operands(layout.q_tile) + row * key_ld + column;
    for (int block = block_of_warp() - 1; block >= 0; --block) {
#pragma unroll
      for (int t = 0; t < 16; ++t) q_tile[t * key_ld + lane()] = Ops::rounded(decayed[t]);
      __syncwarp();
      const operand_t* k_tile = at.operands(layout.k_tile) + 16 * block * key_ld + column;
      float left[4] = {}, right[4] = {};
#pragma unroll
      for (int key = 0; key < 32; key += Ops::depth) {
        const Ops::A a = Ops::load_rows(q_tile + key, key_ld);
        Ops::B b[2];
        Ops::load_rows(b, k_tile + key, key_ld);
        Ops::multiply(left, a, b[0]);
        Ops::multiply(right, a, b[1]);
      }
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int i = row + tile_row() + x / 2 * 8, j = 16 * block + tile_column() + x % 2;
        part(group_of_warp(), i, j) = left[x];
        part(group_of_warp(), i, j + 8) = right[x];
      }
      const float total = at.total(block, own_key());
#pragma unroll
      for (int t = 0; t < 16; ++t) decayed[t] *= total;
      __syncwarp();
    }
  }

  /// Adds up the groups' parts and stores the scores as operands.
  __device__ __forceinline__ void store() const {
    operand_t* to = at.operands(layout.scores);
    const float scale = at.of.g.inputs.scale;
    for (int n = static_cast<int>(threadIdx.x); n < chunk * chunk / 2; n += threads) {
      const int j = n / (chunk / 2), i = n % (chunk / 2) * 2;
      if (i / 16 < j / 16) continue;  // no step of a product takes them
      float x[2] = {};
#pragma unroll
      for (int group = 0; group < groups; ++group)
#pragma unroll
        for (int m = 0; m < 2; ++m) x[m] += part(group, i + m, j);
      Ops::store_scores(to + j * layout.score_ld + i, chunk, scale * x[0], scale * x[1]);
    }
  }
};

/// sum += the scores' operand A (main part, and what its rounding lost) times b.
template <class Load>
__device__ __forceinline__ void load_score_operands(const operand_t* p, Ops::A (&a)[2], Load load) {
  a[0] = load(p);
  if constexpr (sizeof(operand_t) == 2) a[1] = load(p + chunk);
}
__device__ __forceinline__ void multiply_scores(float (&sum)[4], const Ops::A (&a)[2],
                                                const Ops::B& b) {
  if constexpr (sizeof(operand_t) == 2) Ops::multiply(sum, a[1], b);
  Ops::multiply(sum, a[0], b);
}

}  // namespace gla_bench::linear_recurrence::backward::chunked
