#pragma once
// The parts of one block of flash_decoding_sm90: its rows and keys, its places in shared memory,
// and the copies that fill them.

#include "device/math.cuh"
#include "device/sm90.cuh"
#include "softmax_attention/decoding/division.h"
#include "softmax_attention/decoding/layout.h"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention::decoding {

using namespace device::sm90;

constexpr bool biased = trait::decay != 0;
constexpr int group = trait::group, block_n = tile::block_n, stages = tile::stages;
constexpr DecodingLayout layout{dim::key_dim, dim::value_dim, block_n,
                                tile::blocks, stages,         launch::biased};
static_assert(layout.bytes == launch::shared_bytes);
static_assert(!biased || stages % DecodingLayout::warps_for_biases == 0);
/// Rows with a bias; at least 1, for arrays.
constexpr int biased_rows = biased ? layout.biased : 1;

/// What blocks leave of the rows of key heads whose tiles several blocks have, in the order of
/// DecodingDivision::part(): outputs float32 [parts, rows, V], log-sums (log2) float32 [parts, rows]
/// and, with a decay, the sums of the keys' log decays (log2), float32 [parts, rows].
struct Parts {
  const AttentionParams& p;

  __device__ __forceinline__ float* outputs() const { return static_cast<float*>(p.work[0]); }
  __device__ __forceinline__ float* log_sums() const { return static_cast<float*>(p.work[1]); }
  __device__ __forceinline__ float* decays() const { return static_cast<float*>(p.work[2]); }
};

struct DecodingParams {
  TensorMap k, v;
  AttentionParams base;
};

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ int warp() {
  return static_cast<int>(threadIdx.x) / 32;
}

__device__ __forceinline__ int row_tiles_of(const AttentionParams& p) {
  return (static_cast<int>(p.seq) * group + layout.rows - 1) / layout.rows;
}
__device__ __forceinline__ DecodingDivision division_of(const AttentionParams& p) {
  return DecodingDivision::of({p.batch, p.key_seq, static_cast<int>(p.key_heads), row_tiles_of(p),
                               block_n, layout.most_blocks, tile::least_keys},
                              launch::heads_of_gang);
}

/// What a block does without a pause: its rows and keys of one sequence. Rows are the queries of
/// all heads of a group, and the heads of one query are neighbours. Tiles of keys are walked over
/// in descending order.
struct Item {
  const AttentionParams& p;
  int first_row, key_head, batch;
  int first_key, end_key;
  long long part;  ///< where it leaves its rows; below 0: it has all keys, and writes the outputs
  int rows;        ///< that exist, at most layout.rows
  int tiles;       ///< that some row sees

  /// The tiles from `begin` on, up to `end` or the end of the sequence.
  __device__ __forceinline__ Item(const AttentionParams& params, const DecodingDivision& division,
                                  int begin, int end)
      : p(params) {
    const int gang = static_cast<int>(blockIdx.x) / division.members;
    const int member = static_cast<int>(blockIdx.x) % division.members;
    const int sequence = begin / division.tiles, first = begin - sequence * division.tiles;
    const int last = end - sequence * division.tiles, keys = static_cast<int>(p.key_seq);
    const int row_tiles = row_tiles_of(p);
    const int head = sequence * division.heads + member / row_tiles;  // of all batches
    first_row = member % row_tiles * layout.rows;
    key_head = head % static_cast<int>(p.key_heads), batch = head / static_cast<int>(p.key_heads);
    first_key = first * block_n;
    end_key = last < division.tiles ? last * block_n : keys;
    const bool whole = first == 0 && last >= division.tiles;
    part = whole ? -1 : division.part(gang, sequence, member);
    const int all_rows = static_cast<int>(p.seq) * group;
    rows = all_rows - first_row < layout.rows ? all_rows - first_row : layout.rows;
    tiles = (limit(rows - 1) + block_n - 1) / block_n;
  }
  __device__ __forceinline__ int query(int row) const { return (first_row + row) / group; }
  __device__ __forceinline__ int head(int row) const {
    return key_head * group + (first_row + row) % group;
  }
  /// The number of the item's keys that a row sees; 0 for a row that does not exist.
  __device__ __forceinline__ int limit(int row) const {
    if (row >= rows) return 0;
    const int keys = static_cast<int>(p.key_seq);
    int end = end_key;
    if constexpr (trait::causal != 0) {
      const int seen = query(row) + keys - static_cast<int>(p.seq) + 1;
      end = seen < end ? seen : end;
    }
    return end < first_key ? 0 : end - first_key;
  }
  __device__ __forceinline__ const io_t* q(int row) const {
    return static_cast<const io_t*>(p.q) + batch * p.query_strides.batch +
           head(row) * p.query_strides.heads + query(row) * p.query_strides.seq;
  }
  __device__ __forceinline__ const io_t* k(long long key) const {
    return static_cast<const io_t*>(p.k) + batch * p.key_strides.batch +
           key_head * p.key_strides.heads + key * p.key_strides.seq;
  }
  /// What a row's log decay at a key comes from. Keys and rows that do not exist read the last
  /// ones, so that no load waits for another one's branch.
  __device__ __forceinline__ gate_t raw_decay(int row, int key) const {
    const int keys = static_cast<int>(p.key_seq);
    return static_cast<const gate_t*>(
        p.log_decay)[batch * p.decay_strides.batch +
                     (first_row + (row < rows ? row : rows - 1) + key_head * group) *
                         p.decay_strides.heads +
                     (key < keys ? key : keys - 1) * p.decay_strides.seq];
  }
  /// Its log decay (log2); 0 at keys that do not exist.
  __device__ __forceinline__ float decay(int row, int key, gate_t raw) const {
    if (key >= p.key_seq || row >= rows) return 0.0f;
    if constexpr (trait::decay == 1) return p.constant_log_decay[head(row)] * device::log2_e;
    return device::to_float(raw) * device::log2_e;
  }
  __device__ __forceinline__ const io_t* v(long long key) const {
    return static_cast<const io_t*>(p.v) + batch * p.value_strides.batch +
           key_head * p.value_strides.heads + key * p.value_strides.seq;
  }
};

/// Shared memory. Step n of an item's walk uses stage n % stages.
struct Memory {
  unsigned char* shared;

  __device__ __forceinline__ explicit Memory(unsigned char* unaligned)
      : shared(unaligned + (0u - shared_address(unaligned)) % 1024u) {}

  __device__ __forceinline__ unsigned char* keys(int step) const {
    return shared + step % stages * layout.key_tile;
  }
  __device__ __forceinline__ unsigned char* values(int step) const {
    return shared + layout.value_tiles + step % stages * layout.value_tile;
  }
  /// Of a row and the first key of its tile.
  __device__ __forceinline__ float* biases(int step, int row) const {
    return reinterpret_cast<float*>(shared + layout.bias_tiles + step % stages * layout.bias_tile) +
           row * block_n;
  }
  __device__ __forceinline__ unsigned barrier(int index) const {
    return shared_address(shared) + layout.barriers + 8 * index;
  }
  __device__ __forceinline__ unsigned keys_arrived(int step) const {
    return barrier(step % stages);
  }
  __device__ __forceinline__ unsigned values_arrived(int step) const {
    return barrier(stages + step % stages);
  }
  __device__ __forceinline__ unsigned biases_arrived(int step) const {
    return barrier(2 * stages + step % stages);
  }
  __device__ __forceinline__ unsigned free(int step) const {
    return barrier(3 * stages + step % stages);
  }
  static __device__ __forceinline__ unsigned parity(int step) { return step / stages & 1u; }
  /// A lane's registers of the queries' operand in a step of the product with keys.
  __device__ __forceinline__ unsigned* query_operand(int step, int lane) const {
    return reinterpret_cast<unsigned*>(shared + layout.query_operands) + (step * 32 + lane) * 4;
  }
  /// The sum of a row's log decays in the tile of a step.
  __device__ __forceinline__ float& total(int row, int step) const {
    return reinterpret_cast<float*>(
        shared + layout.totals)[row * layout.steps_of_totals + step % layout.steps_of_totals];
  }
  /// Numbers about a row that reach.cuh explains.
  __device__ __forceinline__ float& later(int row) const { return reaches()[row]; }
  __device__ __forceinline__ float& least(int row) const { return reaches()[layout.biased + row]; }
  __device__ __forceinline__ float& guess(int row) const {
    return reaches()[2 * layout.biased + row];
  }
  /// Whether the values of a step's tile were copied.
  __device__ __forceinline__ int& copied(int step) const {
    return reinterpret_cast<int*>(shared + layout.copied)[step % stages];
  }

  __device__ __forceinline__ float* reaches() const {
    return reinterpret_cast<float*>(shared + layout.reaches);
  }
  __device__ __forceinline__ void init() const {
    for (int i = 0; i < 2 * stages; ++i) barrier_init(barrier(i), 1);
    // Where biases are written by threads and not by copies, every thread arrives for itself.
    for (int i = 0; i < stages; ++i) {
      barrier_init(biases_arrived(i), 32);
      barrier_init(free(i), biased ? 32 * layout.warps : layout.warps);
    }
    for (int row = 0; row < layout.biased; ++row) later(row) = 0.0f;
    barrier_init_fence();
    publish_shared();
  }
  /// Between items: barriers begin anew, so that steps are counted from 0.
  __device__ __forceinline__ void clear() const {
    for (int i = 0; i < 4 * stages; ++i)
      asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier(i)) : "memory");
  }
};

/// Writes four columns of a row, and with the first ones its log-sum-exp. `outputs` are not divided
/// by `sum` yet, and both are relative to 2^top.
__device__ __forceinline__ void write_row(const AttentionParams& p, int batch, int query, int head,
                                          int pack, const float4& outputs, float sum, float top) {
  const TokenStrides& s = p.output_strides;
  const float by = sum == 0.0f ? 0.0f : 1.0f / sum;
  io_t* o = static_cast<io_t*>(p.o) + batch * s.batch + head * s.heads + query * s.seq + 4 * pack;
  device::store_pair(o, by * outputs.x, by * outputs.y);
  device::store_pair(o + 2, by * outputs.z, by * outputs.w);
  if constexpr (trait::lse != 0)
    if (pack == 0)
      p.lse[batch * p.lse_strides.batch + head * p.lse_strides.heads + query * p.lse_strides.seq] =
          sum == 0.0f ? device::minus_infinity() : (top + log2f(sum)) * device::ln_2;
}

/// Has tiles copied. Runs on one thread.
struct Loader {
  const DecodingParams& p;
  const Item& item;
  const Memory& memory;

  __device__ __forceinline__ int key(int step) const {
    return item.first_key + (item.tiles - 1 - step) * block_n;
  }
  __device__ __forceinline__ void copy_keys(int step) const {
    const unsigned to = shared_address(memory.keys(step)), arrived = memory.keys_arrived(step);
    barrier_expect(arrived, layout.key_tile);
    for (int i = 0; i < layout.key_panels; ++i)
      copy_in(to + i * layout.panel, p.k, arrived, i * layout.columns, key(step), item.key_head,
              item.batch);
  }
  __device__ __forceinline__ void copy_values(int step) const {
    const unsigned to = shared_address(memory.values(step)), arrived = memory.values_arrived(step);
    barrier_expect(arrived, layout.value_tile);
    for (int i = 0; i < layout.value_panels; ++i)
      copy_in(to + i * layout.panel, p.v, arrived, i * layout.columns, key(step), item.key_head,
              item.batch);
  }
  __device__ __forceinline__ int ahead() const { return item.tiles < stages ? item.tiles : stages; }
  /// The first copies depend on nothing.
  __device__ __forceinline__ void start() const {
    for (int step = 0; step < ahead(); ++step) copy_keys(step);
  }
  __device__ __forceinline__ void run(bool any) const {
    if (!any) {
      for (int step = 0; step < ahead(); ++step) barrier_wait(memory.keys_arrived(step), 0);
      return;
    }
    float offsets[biased_rows] = {};
    for (int step = 0; step < item.tiles; ++step) {
      if (step >= stages) {
        barrier_wait(memory.free(step), memory.parity(step) ^ 1u);
        copy_keys(step);
      }
      bool values = !biased;
#pragma unroll
      for (int row = 0; row < layout.biased; ++row) {
        if (row >= item.rows) break;
        if (step >= stages) offsets[row] += memory.total(row, step - stages);
        values = values || offsets[row] >= memory.guess(row);
      }
      memory.copied(step) = values;
      if (values)
        copy_values(step);
      else
        barrier_arrive(memory.values_arrived(step));
    }
  }
};

}  // namespace gla_bench::softmax_attention::decoding
