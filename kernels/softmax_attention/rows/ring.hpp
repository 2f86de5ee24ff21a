#pragma once
// The host side of ring.cuh: which tiles fit, and how they are launched.

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// The axes of every kernel that holds rows in a ring.
TileSpace ring_space();

/// Why a tile does not suit a problem, where a tile has rows of `inputs` tensors.
std::optional<std::string> refuse_ring(const Problem& problem, const Tile& tile, int inputs,
                                       const Limits& limits);

/// A recipe with one launch of the kernel `entry` of a source.
Recipe ring_recipe(const Problem& problem, const Tile& tile, int inputs, std::string source,
                   std::string entry);

}  // namespace gla_bench::softmax_attention
