#pragma once
// Rows that a cluster holds in shared memory while it works on them, as in ring.cuh, but whose
// pieces come and go one by one (sm_90).
//
// Of a row that fills half of the shared memory and more, a ring of whole rows would have one: the
// memory would wait while it is worked on. Here a ring of tile::stages pieces lies in shared
// memory, more than a row has. What a row leaves free, and each piece whose results have left,
// takes pieces of the next row. A warp of its own has them copied.
//
// A row is worked on in two passes. The first sums up the pieces as they come; the blocks exchange
// their sums; the second puts the results in the place of the last input.

#include "softmax_attention/rows/ring.cuh"

namespace gla_bench::softmax_attention::ring {

/// Of a block's share of a row. Rows that do not come in pieces have none: what follows is compiled
/// all the same, but not called, and must not divide by zero.
constexpr int pieces_of_row = launch::pieces > 0 ? launch::pieces : 1;

template <int inputs>
struct Pieces {
  /// Where a piece lies in shared memory, for each input.
  struct Buffers {
    io_t* of[inputs];
  };

  const io_t* in[inputs];
  io_t* out;
  long long row_count, columns;
  unsigned char* shared;
  int rank = static_cast<int>(blockIdx.x) % cluster;
  long long first = blockIdx.x / cluster, step = gridDim.x / cluster;

  /// Works on all rows of this cluster. For each row it calls begin(), then sum(part, buffers) for
  /// each piece, exchange(pairs) once, which gets what Exchange gives of the pair that total()
  /// returns, and at last write(part, buffers) for each piece, which leaves results in the last
  /// buffer.
  template <typename Work>
  __device__ __forceinline__ void run(Work& work) const {
    start();
    if (threadIdx.x >= block_threads) {
      if (threadIdx.x == block_threads) copy();
      return;
    }
    int done = 0;
    for (long long row = first; row < row_count; row += step, ++done) {
      const Share share = share_of(row, rank, row_count, columns);
      work.begin();
      for (int i = 0; i < pieces_of_row; ++i) {
        const long long piece = static_cast<long long>(done) * pieces_of_row + i;
        barrier_wait(full(slot(piece)), parity(piece));
        const Share own = piece_of(share, i);
        if constexpr (!aligned) {
          copy_edges_in(own, slot(piece));
          row_barrier();
        }
        work.sum(part_of(own), buffers(slot(piece)));
      }
      const float2 total = work.total();
      float2 pairs[cluster];
      Exchange{shared, rank}.of_cluster(done, total.x, total.y, pairs);
      work.exchange(pairs);
      for (int i = 0; i < pieces_of_row; ++i) {
        const long long piece = static_cast<long long>(done) * pieces_of_row + i;
        const Share own = piece_of(share, i);
        work.write(part_of(own), buffers(slot(piece)));
        if constexpr (!aligned) {
          row_barrier();
          copy_edges_out(own, slot(piece));
        }
        publish_shared();
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(finished(slot(piece)));
      }
    }
    // Nobody writes into a block that has ended: it has waited for the last pairs of all others.
  }

 private:
  static __device__ __forceinline__ int slot(long long piece) {
    return static_cast<int>(piece % stages);
  }
  static __device__ __forceinline__ unsigned parity(long long piece) {
    return static_cast<unsigned>(piece / stages) & 1u;
  }
  __device__ __forceinline__ unsigned full(int slot) const {
    return shared_address(shared) + launch::barriers + 8 * slot;
  }
  __device__ __forceinline__ unsigned finished(int slot) const { return full(stages + 2 + slot); }
  __device__ __forceinline__ io_t* buffer(int slot, int input) const {
    return reinterpret_cast<io_t*>(shared + (slot * inputs + input) * launch::buffer_bytes);
  }
  __device__ __forceinline__ Buffers buffers(int slot) const {
    Buffers all;
#pragma unroll
    for (int i = 0; i < inputs; ++i) all.of[i] = buffer(slot, i);
    return all;
  }
  /// Empty where the share has ended.
  static __device__ __forceinline__ Share piece_of(const Share& share, int i) {
    constexpr long long each = launch::buffer_bytes / sizeof(io_t);
    const long long from = share.origin() + i * each, to = from + each;
    Share piece = share;
    if (from > share.begin) piece.begin = from < share.end ? from : share.end;
    if (to < share.end) piece.end = to;
    return piece;
  }
  static __device__ __forceinline__ Part part_of(const Share& piece) {
    if (piece.begin >= piece.end) return {0, 0};
    return {static_cast<int>(piece.begin - piece.origin()),
            static_cast<int>(piece.end - piece.origin())};
  }
  __device__ __forceinline__ void start() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < stages; ++i) {
        barrier_init(full(i), 1);
        barrier_init(finished(i), block_threads / 32);
      }
      for (int i = 0; i < 2; ++i) barrier_init(full(stages + i), 1);  // of the exchange
      barrier_init_fence();
      publish_shared();
    }
    if constexpr (cluster > 1)
      cluster_barrier();  // the barriers of the other blocks are there
    else
      __syncthreads();
  }
  /// A piece of this cluster's rows, counted from the first.
  __device__ __forceinline__ Share share_of_piece(long long piece) const {
    const long long row = first + piece / pieces_of_row * step;
    return piece_of(share_of(row, rank, row_count, columns),
                    static_cast<int>(piece % pieces_of_row));
  }
  __device__ __forceinline__ void copy_piece_in(long long piece) const {
    const Share share = share_of_piece(piece);
    const long long from = share.whole_begin();
    const auto bytes = static_cast<unsigned>((share.whole_end() - from) * sizeof(io_t));
    barrier_expect(full(slot(piece)), inputs * bytes);
    if (bytes == 0) return;
#pragma unroll
    for (int i = 0; i < inputs; ++i)
      copy_bytes_in(shared_address(buffer(slot(piece), i) + (from - share.origin())), in[i] + from,
                    bytes, full(slot(piece)));
  }
  __device__ __forceinline__ void copy_piece_out(long long piece) const {
    const Share share = share_of_piece(piece);
    const long long from = share.whole_begin();
    if (share.whole_end() > from)
      copy_bytes_out(out + from,
                     shared_address(buffer(slot(piece), inputs - 1) + (from - share.origin())),
                     static_cast<unsigned>((share.whole_end() - from) * sizeof(io_t)));
    copies_commit();
  }
  /// Has all pieces copied in and out. One thread runs it.
  __device__ __forceinline__ void copy() const {
    const long long all =
        first < row_count ? ((row_count - first + step - 1) / step) * pieces_of_row : 0;
    for (long long piece = 0; piece < all && piece < stages; ++piece) copy_piece_in(piece);
    for (long long piece = 0; piece < all; ++piece) {
      barrier_wait(finished(slot(piece)), parity(piece));
      copy_piece_out(piece);
      // The one before has left.
      copies_read<1>();
      if (piece > 0 && piece - 1 + stages < all) copy_piece_in(piece - 1 + stages);
    }
    copies_read<0>();
  }

  __device__ __forceinline__ void copy_edges_in(const Share& share, int slot) const {
    each_edge(share, [&](long long from, int place) {
#pragma unroll
      for (int i = 0; i < inputs; ++i) buffer(slot, i)[place] = in[i][from];
    });
  }
  __device__ __forceinline__ void copy_edges_out(const Share& share, int slot) const {
    each_edge(share, [&](long long to, int place) { out[to] = buffer(slot, inputs - 1)[place]; });
  }
};

}  // namespace gla_bench::softmax_attention::ring
