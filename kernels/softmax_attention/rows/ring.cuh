#pragma once
// Rows that blocks hold in shared memory while they work on them, so that each is read and written
// once (sm_90).
//
// A tile is tile::rows neighbouring rows, which are contiguous. tile::cluster blocks hold a tile
// together: each has its share of the 16-byte vectors. A ring of tile::stages tiles lies in shared
// memory. Bulk copies bring tiles that are ahead, the results replace the inputs in place, and bulk
// copies take them out while the next tile is worked on. Rows whose length is no multiple of 16
// bytes begin and end inside of vectors. Threads copy the few elements of such vectors themselves.
//
// tile::threads threads of each block work on a row. What they sum up over a row they exchange
// through the shared memory of all blocks of the cluster (Exchange). Rows of which shared memory
// holds less than two come and go in pieces (pieces.cuh).

#include "device/bulk_copy.cuh"
#include "device/cluster.cuh"
#include "device/types.cuh"
#include "softmax_attention/rows/ring_layout.h"

namespace gla_bench::softmax_attention::ring {

using namespace device::sm90;

constexpr int cluster = tile::cluster, threads = tile::threads, rows = tile::rows;
constexpr int stages = tile::stages, block_threads = threads * rows;
constexpr int width = 16 / static_cast<int>(sizeof(io_t));  // elements of a vector
constexpr bool aligned = launch::aligned != 0;
/// Whether every thread has launch::thread_vectors vectors of every row.
constexpr bool exact = launch::exact != 0;

/// Synchronizes the threads that work on rows.
__device__ __forceinline__ void row_barrier() {
  if constexpr (launch::pieces > 0)
    named_barrier<block_threads>(1);  // another warp copies
  else
    __syncthreads();
}

/// The elements of a tile that a block holds, counted from the start of the tensor.
struct Share {
  long long begin, end;

  /// The vector that the share begins in; it is the first one of the buffer.
  __device__ __forceinline__ long long origin() const { return begin / width * width; }
  /// What bulk copies move: whole vectors. Both are `begin` where there is none.
  __device__ __forceinline__ long long whole_begin() const {
    if constexpr (aligned) return begin;
    const long long first = (begin + width - 1) / width * width;
    return first < end / width * width ? first : begin;
  }
  __device__ __forceinline__ long long whole_end() const {
    if constexpr (aligned) return end;
    const long long first = (begin + width - 1) / width * width, last = end / width * width;
    return first < last ? last : begin;
  }
};

/// The part of one row that a group of `threads` threads has in this block. Places are elements of
/// the buffer.
struct Part {
  int begin, end;

  /// The index of the thread's n-th vector.
  __device__ __forceinline__ int vector(int n) const {
    return begin / width + static_cast<int>(threadIdx.x) % threads + n * threads;
  }
  /// Calls body(index of a vector) for each of the thread's vectors.
  template <typename Body>
  __device__ __forceinline__ void each(const Body& body) const {
#pragma unroll 4
    for (int v = vector(0); v * width < end; v += threads) body(v);
  }
  __device__ __forceinline__ bool whole(int v) const {
    return aligned || (v * width >= begin && (v + 1) * width <= end);
  }
  __device__ __forceinline__ bool inside(int element) const {
    return element >= begin && element < end;
  }
  /// The elements of a vector as floats; those of other rows become `outside`.
  __device__ __forceinline__ void load(const io_t* buffer, int v, float outside,
                                       float (&x)[width]) const {
    if (whole(v)) {
      const auto pack = reinterpret_cast<const device::Pack<io_t, width>*>(buffer)[v];
#pragma unroll
      for (int n = 0; n < width; ++n) x[n] = device::to_float(pack.value[n]);
    } else {
#pragma unroll
      for (int n = 0; n < width; ++n)
        x[n] = inside(v * width + n) ? device::to_float(buffer[v * width + n]) : outside;
    }
  }
  __device__ __forceinline__ void store(io_t* buffer, int v, const float (&y)[width]) const {
    if (whole(v)) {
      device::Pack<io_t, width> pack;
#pragma unroll
      for (int n = 0; n < width; ++n) pack.value[n] = device::from_float<io_t>(y[n]);
      reinterpret_cast<device::Pack<io_t, width>*>(buffer)[v] = pack;
    } else {
#pragma unroll
      for (int n = 0; n < width; ++n)
        if (inside(v * width + n)) buffer[v * width + n] = device::from_float<io_t>(y[n]);
    }
  }
};

/// The share of a block of the cluster in a tile.
__device__ __forceinline__ Share share_of(long long tile, int rank, long long row_count,
                                          long long columns) {
  const long long last = (tile + 1) * rows;
  Share share{tile * rows * columns, (last < row_count ? last : row_count) * columns};
  if constexpr (cluster > 1) {
    constexpr long long each = launch::share_bytes / sizeof(io_t);
    const long long from = share.origin() + rank * each, to = from + each;
    if (from > share.begin) share.begin = from < share.end ? from : share.end;
    if (to < share.end) share.end = to;
  }
  return share;
}

/// Calls body(element of the tensor, its place in the buffer) for what bulk copies do not move.
template <typename Body>
__device__ __forceinline__ void each_edge(const Share& share, const Body& body) {
  const auto left = static_cast<int>(share.whole_begin() - share.begin);
  const auto all = left + static_cast<int>(share.end - share.whole_end());
  for (int i = threadIdx.x; i < all; i += block_threads) {
    const long long at = i < left ? share.begin + i : share.whole_end() + (i - left);
    body(at, static_cast<int>(at - share.origin()));
  }
}

/// Pairs of floats that the blocks of a cluster exchange, through places and barriers behind the
/// stages.
struct Exchange {
  unsigned char* shared;
  int rank;  ///< of the block in its cluster

  __device__ __forceinline__ unsigned barrier(int place) const {
    return shared_address(shared) + launch::barriers + 8 * (stages + place);
  }
  /// The pairs of all blocks of the cluster, in the same order in all of them. Every thread of a
  /// block has the block's own pair. It is called once for each tile, of which `done` came before.
  /// Blocks are never more than a tile apart, so two places for each suffice.
  __device__ __forceinline__ void of_cluster(int done, float a, float b,
                                             float2 (&pairs)[cluster]) const {
    if constexpr (cluster == 1) {
      pairs[0] = make_float2(a, b);
    } else {
      const int place = done & 1;
      if (threadIdx.x == 0) barrier_expect(barrier(place), 16 * cluster);
      if (threadIdx.x < cluster)
        store_there(address_in(threadIdx.x, shared_address(shared) + launch::pairs +
                                                (place * cluster + rank) * 16),
                    address_in(threadIdx.x, barrier(place)), a, b, 0.0f, 0.0f);
      barrier_wait_cluster(barrier(place), done / 2 & 1u);
#pragma unroll
      for (int block = 0; block < cluster; ++block)
        pairs[block] = *reinterpret_cast<const float2*>(shared + launch::pairs +
                                                        (place * cluster + block) * 16);
    }
  }
};

template <int inputs>
struct Ring {
  /// Where the rows of a tile lie in shared memory, for each input.
  struct Buffers {
    io_t* of[inputs];
  };

  const io_t* in[inputs];
  io_t* out;
  long long row_count, columns;
  unsigned char* shared;
  int rank = static_cast<int>(blockIdx.x) % cluster;
  long long first = blockIdx.x / cluster, step = gridDim.x / cluster;
  int done = 0;  ///< tiles that are finished

  /// Works on all tiles of this cluster. body(part, buffers) is called once for each row that the
  /// thread takes part in, and by every thread for each tile: the part is empty where there is no
  /// such row. It leaves the results in the last buffer.
  template <typename Body>
  __device__ __forceinline__ void run(const Body& body) {
    start();
    const long long tiles = (row_count + rows - 1) / rows;
    for (long long tile = first; tile < tiles; tile += step, ++done) {
      const int stage = done % stages;
      barrier_wait(full(stage), done / stages & 1u);
      const Share share = share_of(tile, rank, row_count, columns);
      if constexpr (!aligned) {
        copy_edges_in(share, stage);
        __syncthreads();
      }
      body(part_of(tile, share), buffers(stage));
      publish_shared();
      __syncthreads();
      if constexpr (!aligned) copy_edges_out(share, stage);
      if (threadIdx.x == 0) copy_out_and_ahead(tile, tiles, share, stage);
    }
    // Nobody writes into a block that has ended: it has waited for the last pairs of all others.
    if (threadIdx.x == 0) copies_read<0>();
  }

  /// The pairs of all blocks of the cluster. A body calls this once for each tile.
  __device__ __forceinline__ void of_cluster(float a, float b, float2 (&pairs)[cluster]) const {
    Exchange{shared, rank}.of_cluster(done, a, b, pairs);
  }

 private:
  __device__ __forceinline__ unsigned begin() const { return shared_address(shared); }
  __device__ __forceinline__ unsigned full(int stage) const {
    return begin() + launch::barriers + 8 * stage;
  }
  __device__ __forceinline__ io_t* buffer(int stage, int input) const {
    return reinterpret_cast<io_t*>(shared + (stage * inputs + input) * launch::buffer_bytes);
  }
  __device__ __forceinline__ Buffers buffers(int stage) const {
    Buffers all;
#pragma unroll
    for (int i = 0; i < inputs; ++i) all.of[i] = buffer(stage, i);
    return all;
  }

  __device__ __forceinline__ Part part_of(long long tile, const Share& share) const {
    const long long row = tile * rows + static_cast<int>(threadIdx.x) / threads;
    if (row >= row_count || share.begin >= share.end) return {0, 0};
    if constexpr (rows == 1)
      return {static_cast<int>(share.begin - share.origin()),
              static_cast<int>(share.end - share.origin())};
    const auto at = static_cast<int>(row * columns - share.origin());
    return {at, at + static_cast<int>(columns)};
  }

  __device__ __forceinline__ void start() {
    const long long tiles = (row_count + rows - 1) / rows;
    if (threadIdx.x == 0) {
      for (int i = 0; i < stages + 2; ++i) barrier_init(full(i), 1);
      barrier_init_fence();
      publish_shared();
      for (int i = 0; i < stages; ++i)
        if (first + i * step < tiles) copy_in_tile(first + i * step, i);
    }
    if constexpr (cluster > 1)
      cluster_barrier();  // the barriers of the other blocks are there
    else
      __syncthreads();
  }
  __device__ __forceinline__ void copy_in_tile(long long tile, int stage) const {
    const Share share = share_of(tile, rank, row_count, columns);
    const long long from = share.whole_begin();
    const auto bytes = static_cast<unsigned>((share.whole_end() - from) * sizeof(io_t));
    barrier_expect(full(stage), inputs * bytes);
    if (bytes == 0) return;
#pragma unroll
    for (int i = 0; i < inputs; ++i)
      copy_bytes_in(shared_address(buffer(stage, i) + (from - share.origin())), in[i] + from, bytes,
                    full(stage));
  }
  /// Copies the results out, and the tile that the stage before this one takes next in.
  __device__ __forceinline__ void copy_out_and_ahead(long long tile, long long tiles,
                                                     const Share& share, int stage) const {
    const long long from = share.whole_begin();
    if (share.whole_end() > from)
      copy_bytes_out(out + from,
                     shared_address(buffer(stage, inputs - 1) + (from - share.origin())),
                     static_cast<unsigned>((share.whole_end() - from) * sizeof(io_t)));
    copies_commit();
    const long long next = tile + (stages - 1) * step;
    if (stages == 1 || done == 0 || next >= tiles) return;
    copies_read<1>();
    copy_in_tile(next, (done - 1) % stages);
  }

  __device__ __forceinline__ void copy_edges_in(const Share& share, int stage) const {
    each_edge(share, [&](long long from, int place) {
#pragma unroll
      for (int i = 0; i < inputs; ++i) buffer(stage, i)[place] = in[i][from];
    });
  }
  __device__ __forceinline__ void copy_edges_out(const Share& share, int stage) const {
    each_edge(share, [&](long long to, int place) { out[to] = buffer(stage, inputs - 1)[place]; });
  }
};

}  // namespace gla_bench::softmax_attention::ring
