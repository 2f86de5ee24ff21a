#pragma once
// The sizes of a chunk walk as constants, the addresses of its parts of shared memory, and each
// thread's part in it. Tiles are [chunk][keys] with leading dimension key_ld unless said otherwise.
// c counts chunks.

#include "device/products.cuh"
#include "linear_recurrence/chunk/walk_layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

template <int chunk_, int block_v_, int warp_v_, int warps_k_, int stages_, int terms,
          bool outputs_>
struct WalkTiles {
  using Ops = device::Products<io_t, terms, dim::key_dim>;
  using operand_t = typename Ops::element;

  static constexpr int chunk = chunk_, block_v = block_v_, warp_v = warp_v_, warps_k = warps_k_;
  static constexpr int stages = stages_;
  static constexpr bool outputs = outputs_;
  static constexpr bool bonus = trait::before_update != 0, normalize = trait::normalize != 0;
  static constexpr WalkShape shape = {
      dim::key_dim, sizeof(io_t), sizeof(gate_t), sizeof(operand_t), chunk, block_v,  warp_v,
      warps_k,      stages,       outputs,        trait::decay,      bonus, normalize};
  static constexpr WalkLayout layout = {shape};
  static constexpr bool per_key = layout.per_key, scores_ahead = layout.scores_ahead;
  static_assert(per_key || !bonus, "scalar decays come with no bonus");
  static_assert(trait::decay == 0 || !(normalize || trait::elu_features),
                "normalizer and features are of walks without decay");

  static constexpr int threads = layout.threads, keys = layout.keys, warp_keys = layout.warp_keys;
  static constexpr int key_ld = layout.key_ld, value_ld = layout.value_ld;
  static constexpr int score_ld = layout.score_ld, partial_ld = layout.partial_ld;
  static constexpr int levels = layout.levels, stage_bytes = layout.stage;

  // Accumulator tiles of a warp, along V (16 each), its keys (8 each) and the chunk's tokens (8
  // each).
  static constexpr int tiles_v = warp_v / 16, tiles_k = warp_keys / 8, tiles_i = chunk / 8;
  using State = float[tiles_v][tiles_k][4];   // S^T
  using Output = float[tiles_v][tiles_i][4];  // o^T

  unsigned char* shared;

  __device__ __forceinline__ unsigned char* stage(int c, int place) const {
    const int slot = stages == 1 ? 0 : c % stages;
    return shared + slot * stage_bytes + place;
  }
  __device__ __forceinline__ io_t* k_tile(int c) const {
    return reinterpret_cast<io_t*>(stage(c, 0));
  }
  __device__ __forceinline__ gate_t* g_tile(int c) const {
    return reinterpret_cast<gate_t*>(stage(c, layout.g));
  }
  __device__ __forceinline__ io_t* q_tile(int c) const {
    return reinterpret_cast<io_t*>(stage(c, layout.q));
  }
  __device__ __forceinline__ io_t* v_tile(int c) const {
    return reinterpret_cast<io_t*>(stage(c, layout.v));
  }

  __device__ __forceinline__ operand_t* operand(int at, int tile) const {
    return reinterpret_cast<operand_t*>(shared + at + tile * operand_tile);
  }
  /// Tiles of k e^(bn-b), of q e^b, and of the last level of the score tree. They replace k, q and
  /// g where the formats agree.
  __device__ __forceinline__ operand_t* decayed(int c, int tile) const {
    if constexpr (!layout.in_place)
      return operand(operands_at, tile);
    else if (tile < 2 || layout.gates_in_place)
      return reinterpret_cast<operand_t*>(stage(c, tile == 0   ? 0
                                                   : tile == 1 ? layout.q
                                                               : layout.g));
    else
      return operand(operands_at, 0);
  }
  /// What the tensor cores take for k and q: k e^(bn-b) and q e^b, or plain k and q without decays
  /// per key.
  __device__ __forceinline__ auto* k_operand(int c) const {
    if constexpr (per_key)
      return decayed(c, 0);
    else
      return k_tile(c);
  }
  __device__ __forceinline__ auto* q_operand(int c) const {
    if constexpr (per_key)
      return decayed(c, 1);
    else
      return q_tile(c);
  }
  __device__ __forceinline__ operand_t* level_tile(int c, int level) const {
    return level == levels - 1 ? decayed(c, 2) : operand(scratch_at, 2 + level);
  }
  __device__ __forceinline__ operand_t* middle_q() const { return operand(scratch_at, 0); }
  __device__ __forceinline__ operand_t* middle_k() const { return operand(scratch_at, 1); }
  __device__ __forceinline__ operand_t* scores(int c) const {
    return operand(scores_at + place(c) * layout.score_bytes, 0);
  }
  __device__ __forceinline__ float* partial(int c) const {
    return floats(scratch_at + place(c) * layout.partials);
  }
  __device__ __forceinline__ float* block_decays() const { return floats(block_decays_at); }
  __device__ __forceinline__ float* chunk_decay() const { return floats(chunk_decay_at); }
  __device__ __forceinline__ float* total_decay() const { return floats(total_decay_at); }
  /// One of the arrays [chunk] of scalar factors. After the last array lies the decay of the whole
  /// chunk.
  __device__ __forceinline__ float* factors(int c, int array) const {
    return floats(factors_at + c % layout.factor_slots * layout.factor_slot) + array * chunk;
  }
  __device__ __forceinline__ float* bonus_u() const { return floats(bonus_at); }
  __device__ __forceinline__ float* bonus_scores() const { return bonus_u() + keys; }
  __device__ __forceinline__ float* normalizer() const { return floats(normalizer_at); }
  __device__ __forceinline__ float* normalizer_dots() const { return normalizer() + keys; }
  __device__ __forceinline__ float* quotients() const { return normalizer_dots() + chunk; }
  __device__ __forceinline__ float* row_sums(int column) const {
    return quotients() + (1 + column) * chunk;
  }
  __device__ __forceinline__ float* floats(int at) const {
    return reinterpret_cast<float*>(shared + at);
  }

  // This thread's place in the accumulators of its warp, and the place of the warp in the block's
  // slice of V and in K.
  __device__ __forceinline__ static int lane_row() { return threadIdx.x % 32 / 4; }
  __device__ __forceinline__ static int lane_column() { return threadIdx.x % 4 * 2; }
  __device__ __forceinline__ static int warp() { return threadIdx.x / 32; }
  __device__ __forceinline__ static int warp_first_v() { return warp() / warps_k * warp_v; }
  __device__ __forceinline__ static int warp_first_k() { return warp() % warps_k * warp_keys; }

 private:
  __device__ __forceinline__ static int place(int c) { return layout.places == 1 ? 0 : c % 2; }

  static constexpr int operand_tile = layout.operand_tile;
  static constexpr int operands_at = layout.operands, scratch_at = layout.scratch;
  static constexpr int scores_at = layout.scores, block_decays_at = layout.block_decays;
  static constexpr int chunk_decay_at = layout.chunk_decay, total_decay_at = layout.total_decay;
  static constexpr int factors_at = layout.factors, bonus_at = layout.bonus;
  static constexpr int normalizer_at = layout.normalizer;
};

}  // namespace gla_bench::linear_recurrence
