#pragma once
// The sums of log decays that flash_decoding_sm90 adds up to its biases. One query stands at the
// last key, so the bias of a key is the sum of the log decays after it. It is formed from the sum
// up to the end of the key's tile, and the totals of the later tiles. A reset (-inf) is in the sums
// of all keys before it. Nothing is ever subtracted, so no sum is undefined, and sums of a few
// tokens keep their digits however strong the decays elsewhere are.
//
// Grid: one block for each batch row, tile of keys and `heads` heads. Shared memory: the tile's log
// decays in float32. Workspace: region 0, float32 [B,H,tiles,block_n] (log2), and region 1, float32
// [B,H,tiles]. Bytes moved: the log decays once, the sums once.

#include "device/math.cuh"
#include "device/types.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention::decoding {

struct DecayTiles {
  static constexpr int threads = 256, heads = 32, block_n = tile::block_n;
  static constexpr int each = block_n / 32;  // keys of a lane
  using Decays = float[heads][block_n + 1];

  const AttentionParams& p;
  long long tiles = (p.key_seq + block_n - 1) / block_n;
  int groups = static_cast<int>((p.heads + heads - 1) / heads);
  long long tile = blockIdx.x / groups % tiles, batch = blockIdx.x / groups / tiles;
  int first_head = static_cast<int>(blockIdx.x) % groups * heads;

  /// A log decay in units of log2; 0 where there is none.
  __device__ __forceinline__ float decay(int head, int key) const {
    const long long position = tile * block_n + key, at = first_head + head;
    if (at >= p.heads || position >= p.key_seq) return 0.0f;
    if constexpr (trait::decay == 1) return p.constant_log_decay[at] * device::log2_e;
    return device::log2_e *
           device::to_float(static_cast<const gate_t*>(
               p.log_decay)[batch * p.decay_strides.batch + at * p.decay_strides.heads +
                            position * p.decay_strides.seq]);
  }
  __device__ __forceinline__ void load(Decays& decays) const {
    const bool keys_first = p.decay_strides.seq < p.decay_strides.heads;
    for (int i = threadIdx.x; i < heads * block_n; i += threads) {
      const int head = keys_first ? i / block_n : i % heads;
      const int key = keys_first ? i % block_n : i / heads;
      decays[head][key] = decay(head, key);
    }
  }
  /// Runs on one warp. Lanes have `each` neighbouring keys.
  __device__ __forceinline__ void sum_head(const Decays& decays, int head) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float own[each], sum = 0.0f;
#pragma unroll
    for (int i = each - 1; i >= 0; --i) {
      own[i] = sum;
      sum += decays[head][lane * each + i];
    }
    float from_here = sum;  // this lane's keys and all later ones
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_down_sync(0xffffffffu, from_here, step);
      if (lane + step < 32) from_here += other;
    }
    float after = __shfl_down_sync(0xffffffffu, from_here, 1);
    if (lane == 31) after = 0.0f;
    const long long place = (batch * p.heads + first_head + head) * tiles + tile;
    float* sums = static_cast<float*>(p.work[0]) + place * block_n + lane * each;
#pragma unroll
    for (int i = 0; i < each; ++i) sums[i] = own[i] + after;
    if (lane == 0) static_cast<float*>(p.work[1])[place] = from_here;
  }
  __device__ __forceinline__ void run(Decays& decays) const {
    load(decays);
    __syncthreads();
    for (int head = static_cast<int>(threadIdx.x) / 32; head < heads; head += threads / 32)
      if (first_head + head < p.heads) sum_head(decays, head);
  }
};

}  // namespace gla_bench::softmax_attention::decoding
