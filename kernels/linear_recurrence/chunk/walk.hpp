#pragma once
// The host side of walk.cuh, for the variants that launch it.

#include <optional>
#include <string>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/chunk/walk_layout.h"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/refusal.hpp"

namespace gla_bench::linear_recurrence {

/// Axes that every walk has: block_v, warp_v, warps_k, stages, residency, terms. Without decays per
/// key, stages are small enough for three of them.
TileSpace walk_axes(const Member& member);

/// Shape of a walk in chunks of `chunk` tokens. The rest comes from the tile's walk_axes().
WalkShape walk_shape(const Problem& problem, const Tile& tile, int chunk, bool outputs);

/// Why such a walk cannot run, or nothing. Reasons are sizes out of range, threads, registers,
/// shared memory and architecture. `tile` has passed refuse_choice().
std::optional<std::string> refuse_walk(const Problem& problem, const Tile& tile, int chunk,
                                       const Limits& limits);

/// What the products declare: product_arithmetic() for the tile's terms.
Arithmetic walk_arithmetic(const Problem& problem, const Tile& tile);

/// Slices of V: ceil(value_dim / block_v).
std::int64_t walk_slices(const Problem& problem, const Tile& tile);

/// Bytes of the gates, the bonus and cu_seqlens.
double walk_gate_bytes(const Problem& problem);

/// Operations of the states (2 K V per token), with outputs also of the outputs and scores, and of
/// the normalizer and its products where there is one.
double walk_flops(const Problem& problem, const Tile& tile, int chunk, bool outputs);

}  // namespace gla_bench::linear_recurrence
