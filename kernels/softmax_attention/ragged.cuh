#pragma once
// Sequences with lengths of their own, ragged ones or those of paged keys: which one a block works
// for, and that sequence as a problem of its own.
//
// Of paged keys all sequences have as many queries and, in a grid of keys, the blocks of the
// longest one. Of ragged batches it is different:
//
// Grids follow from the numbers of sequences and tokens alone. A head has tokens / rows + N slots
// for blocks of `rows` tokens, and those of sequence n begin at slot cu_seqlens[n] / rows + n. That
// leaves each sequence at least as many slots as it has blocks, and slots behind its last block are
// left out. Regions of the workspace hold the sequences one behind the other, each in the order
// that it would have alone.

#include "softmax_attention/paged.cuh"
#include "softmax_attention/params.h"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention {

/// A block of `rows` queries, or keys, of one head of one sequence.
struct Place {
  long long sequence, head;
  long long block, blocks;  ///< blocks: of the sequence. Only places with block < blocks count

  __device__ __forceinline__ bool exists() const { return block < blocks; }
  /// Where the sequence's tensors are in a batch; those of sequences with lengths of their own have
  /// been moved to (of_sequence()).
  __device__ __forceinline__ long long batch() const { return own_keys ? 0 : sequence; }
};

/// The last of `count` sequences whose `begin` is at most `place`.
template <typename Begin>
__device__ __forceinline__ long long last_begun(long long count, long long place,
                                                const Begin& begin) {
  long long first = 0;
  while (count > 1) {
    const long long half = count / 2;
    const bool later = begin(first + half) <= place;
    first = later ? first + half : first;
    count = later ? count - half : half;
  }
  return first;
}

/// The place of this number in a grid of blocks * heads * sequences, with blocks fastest.
template <int rows>
__device__ __forceinline__ Place place_of(const AttentionParams& p, long long index,
                                          long long heads, bool of_keys) {
  const long long tokens = of_keys ? p.key_seq : p.seq;
  if constexpr (trait::ragged != 0) {
    const int* ends = of_keys ? p.cu_seqlens_k : p.cu_seqlens;
    const long long slots = tokens / rows + p.sequences, slot = index % slots;
    const auto begin = [&](long long n) { return ends[n] / rows + n; };
    const long long n = last_begun(p.sequences, slot, begin);
    return {n, index / slots, slot - begin(n), (ends[n + 1] - ends[n] + rows - 1) / rows};
  }
  const long long blocks = (tokens + rows - 1) / rows, sequence = index / blocks / heads;
  Place place = {sequence, index / blocks % heads, index % blocks, blocks};
  if constexpr (trait::page_size != 0)
    if (of_keys) place.blocks = (p.cache_seqlens[sequence] + rows - 1) / rows;
  return place;
}

/// Moves a region of the workspace to the part of a sequence, which begins behind `rows` rows of
/// `bytes` for all heads.
__device__ __forceinline__ void move_region(AttentionParams& one, int region, long long rows,
                                            int bytes) {
  one.work[region] = static_cast<char*>(one.work[region]) + rows * one.heads * bytes;
}

/// The tensors and lengths of a sequence of a ragged batch, or of paged keys, as those of a problem
/// of its own; of other batches the parameters as they are. Regions of the workspace stay where
/// they are, and paged keys in their pool.
template <int ragged = trait::ragged, int page_size = trait::page_size>
__device__ __forceinline__ decltype(auto) of_sequence(const AttentionParams& p, long long n) {
  if constexpr (ragged != 0) {
    const long long query = p.cu_seqlens[n], key = p.cu_seqlens_k[n];
    AttentionParams one = p;
    one.seq = p.cu_seqlens[n + 1] - query;
    one.key_seq = p.cu_seqlens_k[n + 1] - key;
    one.q = static_cast<const io_t*>(p.q) + query * p.query_strides.seq;
    one.k = static_cast<const io_t*>(p.k) + key * p.key_strides.seq;
    one.v = static_cast<const io_t*>(p.v) + key * p.value_strides.seq;
    if constexpr (trait::decay == 2) {
      one.log_decay = static_cast<const gate_t*>(p.log_decay) + key * p.decay_strides.seq;
      one.d_log_decay = p.d_log_decay + key * p.decay_strides.seq;
    }
    one.o = static_cast<io_t*>(p.o) + query * p.output_strides.seq;
    one.lse = p.lse + query * p.lse_strides.seq;
    one.d_o = static_cast<const io_t*>(p.d_o) + query * p.output_strides.seq;
    one.dq = static_cast<io_t*>(p.dq) + query * dq_strides(p).seq;
    one.dk = static_cast<io_t*>(p.dk) + key * dk_strides(p).seq;
    one.dv = static_cast<io_t*>(p.dv) + key * dv_strides(p).seq;
    return one;
  } else if constexpr (page_size != 0) {
    AttentionParams one = p;
    one.key_seq = p.cache_seqlens[n];
    one.block_table = p.block_table + n * p.pages_of_sequence;
    one.q = static_cast<const io_t*>(p.q) + n * p.query_strides.batch;
    one.o = static_cast<io_t*>(p.o) + n * p.output_strides.batch;
    one.lse = p.lse + n * p.lse_strides.batch;
    return one;
  } else {
    return (p);
  }
}

}  // namespace gla_bench::softmax_attention
