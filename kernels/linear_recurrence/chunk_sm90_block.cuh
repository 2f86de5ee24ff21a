#pragma once
// What the warps of a chunk_sm90 block share: its part of the problem, its stages, their barriers.

#include "device/math.cuh"
#include "device/sm90.cuh"
#include "device/types.cuh"
#include "linear_recurrence/chunk_sm90_layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::sm90 {

using namespace device::sm90;

struct ChunkSm90Params {
  TensorMap q, k, v, g, o;
  LinearRecurrenceParams base;
};

inline constexpr ChunkSm90Layout layout{dim::key_dim, tile::value_groups, tile::stages,
                                        trait::decay == key_decay};
static_assert(layout.bytes == launch::shared_bytes);

struct Stage {
  unsigned begin;     ///< shared address
  unsigned barriers;  ///< shared address of its first barrier
  unsigned parity;    ///< of its barriers' phases in this turn

  __device__ unsigned arrived() const { return barriers; }     ///< tiles are there
  __device__ unsigned ready() const { return barriers + 8; }   ///< decays and scores are in them
  __device__ unsigned freed() const { return barriers + 16; }  ///< nobody reads them any more
};

struct Block {
  unsigned shared;  ///< shared address of its memory, a multiple of 1024
  long long sequence;
  int batch, head, first_token, tokens, chunks, first_value;

  __device__ Block(const ChunkSm90Params& p, void* memory) {
    constexpr int slices =
        (dim::value_dim + 64 * tile::value_groups - 1) / (64 * tile::value_groups);
    shared = (shared_address(memory) + 1023u) & ~1023u;
    sequence = blockIdx.x / slices;
    first_value = static_cast<int>(blockIdx.x % slices) * 64 * tile::value_groups;
    const long long n = sequence / p.base.heads;
    const Span span = span_of(p.base, n);
    batch = trait::ragged ? 0 : static_cast<int>(n);
    head = static_cast<int>(sequence % p.base.heads);
    first_token = static_cast<int>(span.first);
    tokens = static_cast<int>(span.tokens);
    chunks = (tokens + layout.tokens - 1) / layout.tokens;
  }

  __device__ Stage stage(int chunk) const {
    const int s = chunk % layout.stages;
    return {shared + s * layout.stage_bytes, shared + layout.barriers + s * 24,
            static_cast<unsigned>(chunk / layout.stages) & 1u};
  }
  /// Tokens of the chunk that there are.
  __device__ int valid(int chunk) const {
    const int left = tokens - chunk * layout.tokens;
    return left < layout.tokens ? left : layout.tokens;
  }
};

__device__ __forceinline__ float load_float(unsigned address) {
  return __uint_as_float(load_shared(address));
}
__device__ __forceinline__ float2 load_floats(unsigned address) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(address)
               : "memory");
  return pair;
}
__device__ __forceinline__ void store_floats(unsigned address, float2 pair) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(pair.x), "f"(pair.y)
               : "memory");
}

}  // namespace gla_bench::linear_recurrence::sm90
