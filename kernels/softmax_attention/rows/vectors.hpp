#pragma once
// How kernels that walk over rows in device memory access them, as their host sides see it.

#include <cstdint>
#include <optional>
#include <string>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// Of an H100 or H200 in its SXM form.
inline constexpr int multiprocessors = 132;

/// The number of elements of one memory access, of at most 16 bytes. Rows are contiguous, so their
/// length decides the alignment.
int vector_width(const Problem& problem);

/// Rows of more than 131,072 columns, or nothing.
std::optional<std::string> refuse_columns(const Problem& problem);

/// How many blocks of `block` columns a row has.
std::int64_t blocks_of_row(const Problem& problem, std::int64_t block);

/// Why blocks of `block` columns held by `threads` threads do not suit the problem, or nothing.
/// `most` elements fit a thread's registers.
std::optional<std::string> refuse_held_block(const Problem& problem, int block, int threads,
                                             int most);

/// Of kernels whose blocks walk over whole rows `passes` times: how often the rows come from device
/// memory. Where the L2 cache holds the rows of `tensors` tensors that are walked over at a time,
/// it has them for the later passes. Blocks have `rows` rows with so many threads each.
double passes_from_memory(const Problem& problem, int passes, int tensors, int rows, int threads);

}  // namespace gla_bench::softmax_attention
