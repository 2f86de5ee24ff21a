#pragma once
// The host's side of chunk_walk.cuh, for the variants that launch it.

#include <optional>
#include <string>
#include <string_view>

#include "harness/variant.hpp"
#include "kernels/linear_recurrence/chunk_walk_layout.h"

namespace gla_bench::linear_recurrence {

/// The tile's value of an axis, or 0 where the tile lacks it.
int axis_value(const Tile& tile, std::string_view axis);

/// "chunk=48 is not one of 64, 32, 16" for the first axis of the space that the tile lacks or gives
/// another value than those listed, or nothing.
std::optional<std::string> reject_tile(const TileSpace& space, const Tile& tile);

/// Why no tensor-core variant takes the problem: sizes out of range, or terms=3 for a 16-bit dtype;
/// or nothing.
std::optional<std::string> reject_problem(const Problem& problem, const Tile& tile);

/// Axes that every walk has: block_v, warp_v, warps_k, stages, residency, terms.
TileSpace walk_axes();

/// Shape of a walk in chunks of `chunk` tokens, the rest from the tile's walk_axes().
WalkShape walk_shape(const Problem& problem, const Tile& tile, int chunk, bool outputs);

/// Why such a walk cannot run: sizes out of range, threads, registers, shared memory, architecture;
/// or nothing. `tile` has passed reject_tile().
std::optional<std::string> reject_walk(const Problem& problem, const Tile& tile, int chunk,
                                       const Limits& limits);

/// What the products declare: the problem's 16-bit dtype, or for float32 tf32 (terms=1), float32
/// (terms=3).
Arithmetic walk_arithmetic(const Problem& problem, const Tile& tile);

/// Slices of V: ceil(value_dim / block_v).
std::int64_t walk_slices(const Problem& problem, const Tile& tile);

/// Operations of the states (2 K V a token) and, with outputs, of the outputs and scores too.
double walk_flops(const Problem& problem, const Tile& tile, int chunk, bool outputs);

}  // namespace gla_bench::linear_recurrence
