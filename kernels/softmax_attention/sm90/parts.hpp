#pragma once
// What the host sides of flash_sm90's forward and backward share: tensor maps, and the launches
// that find how far back decay attention has to look.

#include <cstdint>
#include <string>
#include <vector>

#include "core/variant.hpp"
#include "kernels/token_strides.h"

namespace gla_bench::softmax_attention {

/// A [B,T,H,columns] tensor in boxes of rows of one head, 64 columns wide.
TensorMap row_map(const Problem& problem, std::size_t place, std::string buffer, std::int64_t seq,
                  std::int64_t heads, std::int64_t columns, int rows, const TokenStrides& strides);

/// What first_tiles.cuh works on.
struct DecayBounds {
  int block_m, block_n;  ///< queries of an item, keys of a tile
  bool key_biases;       ///< whether the tiles' biases (key_biases.cuh) are formed as well
};

/// The regions of first_tiles.cuh; none where there is no decay.
std::vector<Region> decay_bound_regions(const Problem& problem, const DecayBounds& bounds);
/// Adds its unit to the recipe, which then has one more import, and its launches at the end.
void add_decay_bounds(const Problem& problem, const DecayBounds& bounds, Recipe& recipe);
/// Adds the bytes that its launches move.
void add_decay_bound_traffic(const Problem& problem, const DecayBounds& bounds, Traffic& traffic);
/// The blocks of its largest launch.
double decay_bound_blocks(const Problem& problem, const DecayBounds& bounds);

}  // namespace gla_bench::softmax_attention
