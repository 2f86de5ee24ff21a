#pragma once
// What the warps of a chunk_sm90 block share: the block's part of the problem, its stages and their
// mbarriers.

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
inline constexpr bool wide_gates = key_gates && sizeof(gate_t) == 4;
inline constexpr int cluster = tile::cluster;
inline constexpr int segments = tile::segments, parted = tile::parted;
inline constexpr bool on_chip = tile::on_chip != 0, joined = on_chip && segments > 1;
inline constexpr ChunkSm90Layout layout{dim::key_dim,      cluster,         tile::value_groups,
                                        tile::value_tiles, tile::preparers, tile::stages,
                                        key_gates,         on_chip,         joined,
                                        wide_gates};
/// Whether the state before each chunk is kept for a backward (keep.cuh).
inline constexpr bool keeps_states = launch::keeps_states != 0;
static_assert(layout.bytes == launch::shared_bytes);
static_assert(layout.keys * cluster >= dim::key_dim);
static_assert(layout.own * cluster == layout.values);
static_assert(!on_chip || cluster == 1);
static_assert(parted == 0 || (segments > 1 && !joined));

/// Number of slices of V. Each part of a sequence has one block per slice (or a cluster, where
/// blocks share the keys).
inline constexpr int slices = (dim::value_dim + 64 * layout.values - 1) / (64 * layout.values);
/// Blocks that the hardware starts together as a cluster: those that share the keys, or the
/// segments of one sequence.
inline constexpr int started_together = joined ? segments : cluster;

/// Every segment but a sequence's last has two entries in the workspace. The first is its state
/// from zero, in float32, in the order in which the threads hold it (TileState). The second holds
/// log2 decays: one for each key, or one number for all keys.
inline constexpr int work_states = 0, work_decays = 1;
inline constexpr int decay_width = key_gates ? layout.keys * cluster : 1;

/// Whether the gates' place becomes free before the rest of the stage. It does where scores and
/// tables, which take that place, are no longer needed when the state's products still run.
inline constexpr bool gates_freed_sooner = key_gates && !on_chip && !keeps_states;

/// Number of this thread's warpgroup: -1 is the one that loads tiles. Then come those that prepare,
/// then those that hold the state.
__device__ __forceinline__ int group() {
  return static_cast<int>(threadIdx.x) / 128 - 1;
}

struct Stage {
  unsigned begin;     ///< shared address
  unsigned barriers;  ///< shared address of the stage's first mbarrier
  unsigned parity;    ///< phase parity of its mbarriers in this turn

  __device__ unsigned gates_arrived() const { return barriers; }
  __device__ unsigned arrived() const { return barriers + 8; }     ///< q and k are there
  __device__ unsigned v_arrived() const { return barriers + 16; }  ///< v is there
  __device__ unsigned ready() const { return barriers + 24; }      ///< decays and scores are in
  __device__ unsigned freed() const { return barriers + 32; }  ///< nobody reads the tiles any more
  /// Nobody reads what took the gates' place any more.
  __device__ unsigned gates_freed() const { return barriers + 40; }
};

struct Block {
  unsigned shared;  ///< shared address of the block's memory, a multiple of 1024
  long long sequence;
  int batch, head, segment, slice;
  int of;                           ///< segments that its sequence has
  int rank;                         ///< in its cluster: decides which keys it has
  int first_token, tokens, chunks;  ///< of the segment

  /// `parts`: number of segments of a sequence that have blocks in this grid.
  __device__ Block(const ChunkSm90Params& p, void* memory, int parts) {
    shared = (shared_address(memory) + 1023u) & ~1023u;
    const int in_cluster = static_cast<int>(blockIdx.x) % started_together;
    slice = static_cast<int>(blockIdx.x) / started_together % slices;
    const int at = static_cast<int>(blockIdx.x) / (started_together * slices);
    rank = joined ? 0 : in_cluster;
    whole_ = parted > 0 ? static_cast<int>(p.base.sequences * p.base.heads) - parted : 0;
    // The first of the grid's sequences that has segments.
    const int first = parts == segments ? whole_ : 0;
    of = at < first ? 1 : segments;
    segment = joined ? in_cluster : at < first ? 0 : (at - first) % parts;
    sequence = joined ? at : at < first ? at : whole_ + (at - first) / parts;
    const long long n = sequence / p.base.heads;
    const Span span = span_of(p.base, n);
    batch = trait::ragged ? 0 : static_cast<int>(n);
    head = static_cast<int>(sequence % p.base.heads);
    const int all = static_cast<int>((span.tokens + layout.tokens - 1) / layout.tokens);
    int before, most;  // tokens of the earlier segments, and the most that this one can have
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
  /// Where a segment is stored in the workspace.
  __device__ long long place(int of_segment) const {
    return (sequence - whole_) * (segments - 1) + of_segment;
  }

  __device__ Stage stage(int chunk) const {
    const int s = chunk % layout.stages;
    return {shared + s * layout.stage_bytes,
            shared + layout.barriers + s * 8 * layout.stage_barriers,
            static_cast<unsigned>(chunk / layout.stages) & 1u};
  }
  /// Shared address of the scratch memory of the threads that prepare a chunk.
  __device__ unsigned scratch() const {
    return shared + (on_chip ? group() * layout.scratch_bytes : 0);
  }
  /// Whether the segment has others before and behind it, so that it receives a state and passes
  /// one on. Such a segment is walked twice, and has no more chunks than there are stages.
  __device__ bool between() const { return joined && segment > 0 && segment < segments - 1; }
  /// Shared address of a chunk's log2 decays, for a segment that lies between others. There is one
  /// number per key, or one for all keys.
  __device__ unsigned decays(int chunk) const {
    return shared + layout.decays + chunk * (key_gates ? layout.keys * 4 : 4);
  }
  /// The mbarrier that completes when the state that the segment begins with has arrived.
  __device__ unsigned state_there() const { return shared + layout.exchange; }
  /// Mbarriers of a tile of V. In the block that adds the tile up, sums_there completes when the
  /// other blocks' sums have arrived. In the other blocks, sums_taken completes when their sums
  /// have been read.
  __device__ unsigned sums_there(int tile) const { return shared + layout.exchange + 16 * tile; }
  __device__ unsigned sums_taken(int tile) const { return sums_there(tile) + 8; }

  __device__ bool is_last() const { return segment == of - 1; }

  /// The chunk of a step when only the segment's state is wanted. The walk goes backwards from the
  /// last chunk, so that it can skip chunks of which nothing is left at the segment's end.
  __device__ int backwards(int step) const { return chunks - 1 - step; }

  /// Number of tokens of the chunk that exist.
  __device__ int valid(int chunk) const {
    const int left = tokens - chunk * layout.tokens;
    return left < layout.tokens ? left : layout.tokens;
  }

 private:
  int whole_;  // sequences that have one segment; they come before those that have several
};

/// Whether the backwards walk for a state ends with this chunk, which has been prepared.
__device__ __forceinline__ bool is_last(const Stage& stage) {
  return load_shared(stage.begin + layout.last) != 0;
}

/// Returns the same number in a way that neither the compiler nor the assembler can see through.
/// What is derived from it is computed again at each use instead of being kept in registers.
__device__ __forceinline__ unsigned anew(unsigned x) {
  asm volatile("prmt.b32 %0, %0, 0, 0x3210;" : "+r"(x));
  return x;
}

/// The first chunk that this thread prepares, and the distance to its next one. With `on_chip` the
/// warpgroups that prepare take turns.
inline constexpr int every = on_chip ? tile::preparers : 1;
__device__ __forceinline__ int first_chunk() {
  return on_chip ? group() : 0;
}
/// Number of this thread among those that prepare the same chunk.
__device__ __forceinline__ unsigned preparing_thread() {
  return on_chip ? threadIdx.x % 128 : threadIdx.x - 128;
}
inline constexpr int preparing_threads = 128 * layout.together;
/// Number of the named barrier of the preparing threads. Barriers 2 and 3 belong to the warps that
/// hold the state.
__device__ __forceinline__ int preparing_barrier() {
  return on_chip ? 4 + group() : 1;
}
/// Waits for the first of a chunk's tiles to arrive. With `on_chip` a thread does not wait for
/// every chunk of its stage. Parity only tells two successive phases apart, so such a thread first
/// makes sure that the stage's previous chunk has been worked on.
__device__ __forceinline__ void wait_for_tiles(const Stage& stage, int chunk) {
  if (on_chip && chunk >= layout.stages) barrier_wait(stage.freed(), stage.parity ^ 1u);
  barrier_wait(key_gates ? stage.gates_arrived() : stage.arrived(), stage.parity);
}

/// The strongest decay of one token, in bits. Anything stronger is below float32's resolution of
/// what the decay multiplies.
inline constexpr float strongest = -24.0f;
/// A decay of more bits than this leaves nothing that matters. It is two bits more than
/// `strongest`, to leave room for sums over many keys.
inline constexpr int enough = -26;
/// The limit of one token in natural logs: -16.625, twice in bfloat16.
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
