#pragma once
// What the host sides of the backward's chunk variants have in common.

#include "kernels/linear_recurrence/backward/chunk/layout.h"
#include "kernels/linear_recurrence/backward/variant.hpp"

namespace gla_bench::linear_recurrence {

TileSpace chunk_gradient_space();

/// What a chunk has from outside of it: the state before it and the gradient of that behind it, of
/// which the latter may stay in shared memory, or the tokens of all other chunks.
enum class Outside { states, kept_change, others };

ChunkGradientLayout chunk_gradient_layout(const Problem& problem, const Tile& tile,
                                          Outside outside);

/// Bytes of the states before all chunks.
double chunk_state_bytes(const Problem& problem, const Tile& tile);

/// A reason for refusing a tile, or nothing. `regions`: the whole workspace.
std::optional<std::string> refuse_chunk_gradients(const Problem& problem, const Tile& tile,
                                                  const ChunkGradientLayout& layout,
                                                  const std::vector<Region>& regions,
                                                  const GradientSums& sums, const Limits& limits);

/// Operations of the gradients of chunks whose states are there: 8KV per token and head for what
/// they have from the state and its gradient, and for that gradient, and the lower triangles of
/// their own tokens. Every slice forms do v^T once more.
double chunk_gradient_flops(const Problem& problem, const Tile& tile);

/// Forwards leave no normalizer's column with the states; or nothing.
std::optional<std::string> refuse_given_states(const Problem& problem, States states);

/// A recipe without steps.
Recipe chunk_gradient_recipe(std::string source, const Problem& problem, const Tile& tile,
                             const ChunkGradientLayout& layout, const std::vector<Region>& regions,
                             const GradientSums& sums);

/// The launches of the gradients of outputs, from states before all chunks. None without a
/// normalizer.
std::vector<Step> chunk_output_steps(const Problem& problem, const Tile& tile,
                                     const ChunkGradientLayout& layout);

/// What these launches read besides what gradient_sum_traffic() counts.
double chunk_output_reads(const Problem& problem, const Tile& tile);

Arithmetic chunk_gradient_arithmetic(const Problem& problem, const Tile& tile);

}  // namespace gla_bench::linear_recurrence
