#pragma once
// Paged keys: where a key is in the pool.
//
// k, v and log decays per token are [pages, page_size, ..], so that the strides of `batch` are
// those of pages. A block works for one sequence, whose parameters (of_sequence(), ragged.cuh) hold
// its own row of the block table and its own number of keys. The table is never read behind the
// page of the last key, and rows behind that key are not read as numbers: they may hold anything.

#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// Whether each sequence has its own number of keys, and parameters of its own that say it.
inline constexpr bool own_keys = trait::ragged != 0 || trait::page_size != 0;

/// Of a dense tensor, which has no pages, a number to divide by.
inline constexpr int rows_of_page = trait::page_size != 0 ? trait::page_size : 1;

/// Where the row of a key begins, in elements behind a tensor's first row of the same head.
__device__ __forceinline__ long long row_of_key(const AttentionParams& one,
                                                const TokenStrides& strides, long long batch,
                                                long long key) {
  if constexpr (trait::page_size != 0)
    return one.block_table[key / rows_of_page] * strides.batch + key % rows_of_page * strides.seq;
  else
    return batch * strides.batch + key * strides.seq;
}

}  // namespace gla_bench::softmax_attention
