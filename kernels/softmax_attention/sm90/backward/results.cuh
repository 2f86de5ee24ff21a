#pragma once
// How consumers' sums become rows of dq, dk and dv. Those of dk and dv pass through shared memory,
// from where bulk copies take them. Without bulk copies: dq of a step whose keys are all in one
// block is stored from registers. The sums of dk and dv of blocks that have the same keys, and
// those of dq of blocks that meet the same queries, lie in device memory as the consumers' threads
// had them, until a last kernel adds up and rounds them.

#include "softmax_attention/sm90/backward/shares.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention::sm90 {

template <int size>
__device__ __forceinline__ void clear(float (&sum)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i) sum[i] = 0.0f;
}

/// Stores dq of step `n` of a query head of the group.
template <int size>
__device__ __forceinline__ void store_dq(const AttentionParams& p, const Range& range,
                                         const float (&sums)[size], float factor, int of_group,
                                         int n) {
  const TokenStrides& s = dq_strides(p);
  io_t* out = static_cast<io_t*>(p.dq) + range.batch * s.batch +
              (range.key_head * trait::group + of_group) * s.heads + 1LL * n * block_m * s.seq;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = (layout.dq_by_columns ? 0 : group() * layout.rows) + row_of(half);
    if (1LL * n * block_m + row >= p.seq) continue;
#pragma unroll
    for (int i = 0; i < size; i += 4) {
      const int column = own_column(layout.dq.second) + column_of(i);
      if (column < dim::key_dim)
        device::store_pair(out + row * s.seq + column, factor * sums[i + 2 * half],
                           factor * sums[i + 2 * half + 1]);
    }
  }
}

/// Writes the consumer's rows to panels in shared memory, from a column on that begins a panel or
/// the second half of one.
template <int steps>
__device__ __forceinline__ void put_columns(const unsigned (&packed)[steps][4], unsigned to,
                                            int first) {
  const unsigned row = first_row() + warp() * 16 + lane() % 16, eight = lane() / 16 * 16;
#pragma unroll
  for (int k = 0; k < steps; ++k) {
    const int column = first + k * 16;
    store_matrices(to + column / layout.columns * layout.key_panel +
                       swizzled(row, column % layout.columns * 2 + eight),
                   packed[k][0], packed[k][1], packed[k][2], packed[k][3]);
  }
}

/// Where this thread's sums of dv, and behind them those of dk, begin.
__device__ __forceinline__ float4* part_of_results(const AttentionParams& p, const Range& range) {
  return static_cast<float4*>(p.work[work::result_sums]) +
         range.result * (layout.block_floats / 4) + group() * (layout.first_floats / 4 * 128) +
         threadIdx.x % 128;
}
/// Leaves a thread's sums there, and returns where the next ones begin.
template <int size>
__device__ __forceinline__ float4* leave(float4* to, const float (&sum)[size], float factor) {
#pragma unroll
  for (int i = 0; i < size; i += 4, to += 128)
    __stcg(to, make_float4(factor * sum[i], factor * sum[i + 1], factor * sum[i + 2],
                           factor * sum[i + 3]));
  return to;
}

/// What a block of the last kernel needs to know of a result's sums.
struct Sums {
  const float4* first;   ///< of the first consumer's first thread
  const float4* second;  ///< of the second consumer's first thread
  int parts;             ///< blocks that have a part of each sum
  long long apart;       ///< from a block's sums to the next one's
  float factor;
};
/// A slice is a warp's rows of a consumer's sums.
inline constexpr int slice_rows = layout.slice_rows;
static_assert(slice_rows == 16);

/// Elements of shared memory that `rows` rows of a result pass through.
__device__ __forceinline__ constexpr int room_of(int rows, int width) {
  return rows * (width + 16 / static_cast<int>(sizeof(io_t)));
}
/// Adds up and rounds `slices` slices of a result of `columns` columns, and stores the rows that
/// are there, counted from the first slice. If `divided`, the first consumer's threads have sums of
/// `first_width` columns, the second one's of `second_width` behind these; else each has all
/// columns of its own 64 rows. Rows pass through shared memory, so that whole rows are written.
template <bool divided, int slices, int columns, int first_width, int second_width>
__device__ __forceinline__ void round_rows(const Sums& sums, int first_slice, io_t* room, io_t* out,
                                           long long stride, long long there) {
  constexpr int each = 16 / static_cast<int>(sizeof(io_t)), packs = columns / each;
  // Eights of columns, of which a warp's thread has two in two rows.
  constexpr int of_first = first_width / 8;
  constexpr int eights = divided ? of_first + second_width / 8 : of_first;
  constexpr int ld = eights * 8 + each, of_slice = eights * 32;
  using Pack = device::Pack<io_t, each>;
#pragma unroll
  for (int n = static_cast<int>(threadIdx.x); n < slices * of_slice; n += layout.side_threads) {
    const int slice = first_slice + n / of_slice, its_lane = n % 32, eight = n / 32 % eights;
    const bool of_second = divided ? eight >= of_first : slice / 4 != 0;
    const int own = divided && of_second ? eight - of_first : eight;
    const int row = n / of_slice * slice_rows + its_lane / 4;
    const int column = eight * 8 + its_lane % 4 * 2;
    const float4* from =
        (of_second ? sums.second : sums.first) + own * 128 + slice % 4 * 32 + its_lane;
    float4 sum = __ldcg(from);
#pragma unroll
    for (int part = 1; part < sums.parts; ++part) {
      const float4 more = __ldcg(from + part * sums.apart);
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    device::store_pair(room + row * ld + column, sums.factor * sum.x, sums.factor * sum.y);
    device::store_pair(room + (row + 8) * ld + column, sums.factor * sum.z, sums.factor * sum.w);
  }
  __syncthreads();
  for (int n = static_cast<int>(threadIdx.x); n < slices * slice_rows * packs;
       n += layout.side_threads) {
    const int row = n / packs, column = n % packs * each;
    if (row < there)
      *reinterpret_cast<Pack*>(out + row * stride + column) =
          *reinterpret_cast<const Pack*>(room + row * ld + column);
  }
}

/// Rounds dq of a step.
__device__ __forceinline__ void round_dq(const AttentionParams& p, long long step, io_t* room) {
  const int steps = steps_of_head(p);
  const long long sequence = step / steps, first = step % steps * block_m;
  const auto* sums =
      static_cast<const float4*>(p.work[work::dq_sums]) + step * (layout.step_floats / 4);
  const Sums both{sums, sums + layout.dq.first_width / 8 * 128, 1, 0, p.scale};
  const TokenStrides& s = dq_strides(p);
  io_t* out = static_cast<io_t*>(p.dq) + sequence / p.heads * s.batch +
              sequence % p.heads * s.heads + first * s.seq;
  round_rows<layout.dq_by_columns, block_m / slice_rows, dim::key_dim, layout.dq.first_width,
             layout.dq.second_width>(both, 0, room, out, s.seq, p.seq - first);
}

inline constexpr int slices_of_block = layout.block_n / slice_rows;

/// Adds up and rounds dv (`of_keys` is false) or dk of a slice of the keys of all heads. A block
/// for each, since few blocks of keys are divided: of 128 rows each, they would keep few
/// multiprocessors busy.
__device__ __forceinline__ void round_results(const AttentionParams& p, long long n, bool of_keys,
                                              io_t* room) {
  const int blocks = blocks_of_head(p), slice = static_cast<int>(n % slices_of_block);
  const long long result = n / slices_of_block, sequence = result / blocks;
  const long long first = result % blocks * layout.block_n + slice * slice_rows;
  if (first >= p.key_seq) return;
  const auto* sums = static_cast<const float4*>(p.work[work::result_sums]) +
                     result * parts * (layout.block_floats / 4);
  const auto* of_second = sums + layout.first_floats / 4 * 128;
  const auto both = [&](int before_first, int before_second) {
    return Sums{sums + before_first / 8 * 128, of_second + before_second / 8 * 128, parts,
                layout.block_floats / 4, 1.0f};
  };
  const auto at = [&](const TokenStrides& s) {
    return sequence / p.key_heads * s.batch + sequence % p.key_heads * s.heads + first * s.seq;
  };
  if (of_keys) {
    const TokenStrides& s = dk_strides(p);
    round_rows<layout.by_columns, 1, dim::key_dim, layout.dk.first_width, layout.dk.second_width>(
        both(layout.dv.first_width, layout.dv.second_width), slice, room,
        static_cast<io_t*>(p.dk) + at(s), s.seq, p.key_seq - first);
  } else {
    const TokenStrides& s = dv_strides(p);
    round_rows<layout.by_columns, 1, dim::value_dim, layout.dv.first_width,
               layout.dv.second_width>(both(0, 0), slice, room, static_cast<io_t*>(p.dv) + at(s),
                                       s.seq, p.key_seq - first);
  }
}

/// Rounds what lies in sums: dq of a step in each block and, where several blocks have the same
/// keys, dv and dk of a slice of keys in each one behind these.
__device__ __forceinline__ void round_sums(const AttentionParams& p) {
  constexpr int widest =
      layout.key_width > layout.value_width ? layout.key_width : layout.value_width;
  constexpr int of_dq = room_of(block_m, layout.key_width);
  constexpr int of_results = divided ? room_of(slice_rows, widest) : 0;
  constexpr int largest = of_dq < of_results ? of_results : of_dq;
  __shared__ __align__(16) io_t room[largest];
  const long long steps = whole ? 0 : p.batch * p.heads * steps_of_head(p), n = blockIdx.x;
  if (n < steps) return round_dq(p, n, room);
  if constexpr (divided) round_results(p, (n - steps) / 2, (n - steps) % 2 != 0, room);
}

}  // namespace gla_bench::softmax_attention::sm90
