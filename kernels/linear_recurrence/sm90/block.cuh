#pragma once
// What the warps of a chunk_sm90 block share: its part of the problem, its stages, their barriers.

#include "device/cluster.cuh"
#include "device/math.cuh"
#include "device/sm90.cuh"
#include "device/types.cuh"
#include "linear_recurrence/sm90/layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::sm90 {

using namespace device::sm90;

struct ChunkSm90Params {
  TensorMap q, k, v, g, o;
  LinearRecurrenceParams base;
};

inline constexpr bool key_gates = trait::decay == key_decay;
inline constexpr int cluster = tile::cluster;
inline constexpr int segments = tile::segments, parted = tile::parted;
inline constexpr bool on_chip = tile::on_chip != 0, joined = on_chip && segments > 1;
inline constexpr ChunkSm90Layout layout{dim::key_dim,      cluster,         tile::value_groups,
                                        tile::value_tiles, tile::preparers, tile::stages,
                                        key_gates,         on_chip,         joined};
static_assert(layout.bytes == launch::shared_bytes);
static_assert(layout.keys * cluster >= dim::key_dim);
static_assert(layout.own * cluster == layout.values);
static_assert(!on_chip || cluster == 1);
static_assert(parted == 0 || (segments > 1 && !joined));

/// Slices of V, and parts of a sequence, that have a block each.
inline constexpr int slices = (dim::value_dim + 64 * layout.values - 1) / (64 * layout.values);
/// Blocks that the hardware starts together: those that share keys, or a sequence's segments.
inline constexpr int started_together = joined ? segments : cluster;

/// A segment but the last as the workspace has it: its state from zero, float32, as the threads
/// that hold it have it (WorkState), and the log2 decays of its keys, or of its tokens.
inline constexpr int work_states = 0, work_decays = 1;
inline constexpr int decay_width = key_gates ? layout.keys * cluster : 1;

/// Scores and tables are done with before the state's products are: then the gates' place is free.
inline constexpr bool gates_freed_sooner = key_gates && !on_chip;

/// Of four warps: -1 is the one that brings tiles in, then come those that prepare, then the
/// state's.
__device__ __forceinline__ int group() {
  return static_cast<int>(threadIdx.x) / 128 - 1;
}

struct Stage {
  unsigned begin;     ///< shared address
  unsigned barriers;  ///< shared address of its first barrier
  unsigned parity;    ///< of its barriers' phases in this turn

  __device__ unsigned gates_arrived() const { return barriers; }
  __device__ unsigned arrived() const { return barriers + 8; }       ///< q and k are there
  __device__ unsigned v_arrived() const { return barriers + 16; }    ///< v is
  __device__ unsigned ready() const { return barriers + 24; }        ///< decays and scores are in
  __device__ unsigned freed() const { return barriers + 32; }        ///< nobody reads them any more
  __device__ unsigned gates_freed() const { return barriers + 40; }  ///< nor what took gates' place
};

struct Block {
  unsigned shared;  ///< shared address of its memory, a multiple of 1024
  long long sequence;
  int batch, head, segment, slice;
  int of;                           ///< segments that its sequence has
  int rank;                         ///< in its cluster: which of the keys it has
  int first_token, tokens, chunks;  ///< of the segment

  /// `parts`: segments that the grid has blocks for.
  __device__ Block(const ChunkSm90Params& p, void* memory, int parts) {
    shared = (shared_address(memory) + 1023u) & ~1023u;
    const int in_cluster = static_cast<int>(blockIdx.x) % started_together;
    slice = static_cast<int>(blockIdx.x) / started_together % slices;
    const int at = static_cast<int>(blockIdx.x) / (started_together * slices);
    rank = joined ? 0 : in_cluster;
    whole_ = parted > 0 ? static_cast<int>(p.base.sequences * p.base.heads) - parted : 0;
    const int first = parts == segments ? whole_ : 0;  // of the grid's, that have segments
    of = at < first ? 1 : segments;
    segment = joined ? in_cluster : at < first ? 0 : (at - first) % parts;
    sequence = joined ? at : at < first ? at : whole_ + (at - first) / parts;
    const long long n = sequence / p.base.heads;
    const Span span = span_of(p.base, n);
    batch = trait::ragged ? 0 : static_cast<int>(n);
    head = static_cast<int>(sequence % p.base.heads);
    const int all = static_cast<int>((span.tokens + layout.tokens - 1) / layout.tokens);
    int before, most;  // tokens of the segments before, and that this one has at most
    if constexpr (joined) {
      before = (segment * all + segments - 1) / segments * layout.tokens;
      most = ((segment + 1) * all + segments - 1) / segments * layout.tokens - before;
    } else {
      most = (parted > 0 && of == 1 ? all : (all + segments - 1) / segments) * layout.tokens;
      before = segment * most;
    }
    const int left = static_cast<int>(span.tokens) - before;
    first_token = static_cast<int>(span.first) + before;
    tokens = left < 0 ? 0 : left < most ? left : most;
    chunks = (tokens + layout.tokens - 1) / layout.tokens;
  }

  __device__ int first_key() const { return rank * layout.keys; }
  __device__ int first_value() const { return slice * 64 * layout.values; }
  /// A segment's place in the workspace.
  __device__ long long place(int of_segment) const {
    return (sequence - whole_) * (segments - 1) + of_segment;
  }

  __device__ Stage stage(int chunk) const {
    const int s = chunk % layout.stages;
    return {shared + s * layout.stage_bytes,
            shared + layout.barriers + s * 8 * layout.stage_barriers,
            static_cast<unsigned>(chunk / layout.stages) & 1u};
  }
  /// Of what the threads that prepare a chunk share.
  __device__ unsigned scratch() const {
    return shared + (on_chip ? group() * layout.scratch_bytes : 0);
  }
  /// Whether the segment has others before and behind it, which pass a state on: it is walked
  /// twice, and has no more chunks than stages.
  __device__ bool between() const { return joined && segment > 0 && segment < segments - 1; }
  /// Log2 of what a chunk decays by, where a segment is between others: of all keys, or one number.
  __device__ unsigned decays(int chunk) const {
    return shared + layout.decays + chunk * (key_gates ? layout.keys * 4 : 4);
  }
  /// Barrier: the state that the segment begins with is there.
  __device__ unsigned state_there() const { return shared + layout.exchange; }
  /// Barriers of a tile of V: the other blocks' sums are there, in the block that adds them up;
  /// they have been read, in the others.
  __device__ unsigned sums_there(int tile) const { return shared + layout.exchange + 16 * tile; }
  __device__ unsigned sums_taken(int tile) const { return sums_there(tile) + 8; }

  __device__ bool is_last() const { return segment == of - 1; }

  /// A segment's state alone is made from its last chunk on, and not from chunks of which nothing
  /// is left at its end.
  __device__ int backwards(int step) const { return chunks - 1 - step; }

  /// Tokens of the chunk that there are.
  __device__ int valid(int chunk) const {
    const int left = tokens - chunk * layout.tokens;
    return left < layout.tokens ? left : layout.tokens;
  }

 private:
  int whole_;  // sequences that have one segment, before those that have several
};

/// Whether a state alone is made from no more chunks than this one, which is prepared.
__device__ __forceinline__ bool is_last(const Stage& stage) {
  return load_shared(stage.begin + layout.last) != 0;
}

/// The same number, of which the compiler and the assembler know nothing: what is computed from it
/// is computed once more, not kept in registers from one use to another.
__device__ __forceinline__ unsigned anew(unsigned x) {
  asm volatile("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return x;
}

/// Of the groups that prepare, the first chunk of this thread's, and how many they are apart.
inline constexpr int every = on_chip ? tile::preparers : 1;
__device__ __forceinline__ int first_chunk() {
  return on_chip ? group() : 0;
}
/// Among the threads that prepare a chunk.
__device__ __forceinline__ unsigned preparing_thread() {
  return on_chip ? threadIdx.x % 128 : threadIdx.x - 128;
}
inline constexpr int preparing_threads = 128 * layout.together;
/// The number of their barrier: those of the state's warps are 2 and 3.
__device__ __forceinline__ int preparing_barrier() {
  return on_chip ? 4 + group() : 1;
}
/// Waits for the first of a chunk's tiles. A thread that has not waited for each of its stage's
/// chunks makes sure that the one before has been worked on: parities tell but two chunks apart.
__device__ __forceinline__ void wait_for_tiles(const Stage& stage, int chunk) {
  if (on_chip && chunk >= layout.stages) barrier_wait(stage.freed(), stage.parity ^ 1u);
  barrier_wait(key_gates ? stage.gates_arrived() : stage.arrived(), stage.parity);
}

/// Bits that a token decays by at most: less is below float32's resolution of what it multiplies.
inline constexpr float strongest = -24.0f;
/// What has decayed by more bits is not missed: the same, with two bits more for sums of many keys.
inline constexpr int enough = -26;
/// The same of natural logs as a token's, twice in bfloat16: -16.625.
inline constexpr unsigned strongest_pair = 0xc185c185;
__device__ __forceinline__ unsigned at_least(unsigned pair, unsigned least) {
  unsigned larger;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(pair), "r"(least));
  return larger;
}
__device__ __forceinline__ float log2_decay(float g) {
  return fmaxf(g * device::log2_e, strongest);
}

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
__device__ __forceinline__ float4 load_four(unsigned address) {
  float4 four;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(address)
               : "memory");
  return four;
}
__device__ __forceinline__ void store_float(unsigned address, float x) {
  store_shared(address, __float_as_uint(x));
}
__device__ __forceinline__ void store_floats(unsigned address, float2 pair) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(pair.x), "f"(pair.y)
               : "memory");
}

__device__ __forceinline__ void load_words(unsigned address, unsigned (&words)[4]) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_words(unsigned address, unsigned (&words)[2]) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_words(unsigned address, unsigned (&words)[1]) {
  words[0] = load_shared(address);
}
__device__ __forceinline__ void store_words(unsigned address, const unsigned (&words)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}
__device__ __forceinline__ void store_words(unsigned address, const unsigned (&words)[2]) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(words[0]), "r"(words[1])
               : "memory");
}
__device__ __forceinline__ void store_words(unsigned address, const unsigned (&words)[1]) {
  store_shared(address, words[0]);
}

}  // namespace gla_bench::linear_recurrence::sm90
