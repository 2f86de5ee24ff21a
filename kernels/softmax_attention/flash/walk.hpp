#pragma once
// The host side of walk.cuh, for the variants that launch it.

#include <optional>
#include <string>

#include "core/variant.hpp"
#include "kernels/softmax_attention/flash/layout.h"

namespace gla_bench::softmax_attention {

/// How a walk treats its outputs, as far as this decides what fits.
struct FlashUse {
  bool divides = false;  ///< divides the outputs at every tile of keys
};

/// The shape of a walk whose rows and keys are spread over warps_m * warps_n warps. block_m,
/// block_n and stages come from the tile. Zeros are replaced by ones, so that any tile has a shape.
FlashShape flash_shape(const Problem& problem, const Tile& tile, int warps_m, int warps_n);

/// Says why such a walk cannot run, or returns nothing. Reasons are head sizes over 256, a scale
/// that is not above zero, lengths over 2^30, warps without rows or keys, registers, and shared
/// memory. `tile` must have a choice for terms.
std::optional<std::string> refuse_flash(const Problem& problem, const Tile& tile,
                                        const FlashShape& shape, const FlashUse& use,
                                        const Limits& limits);

/// Refuses float32 products in tf32 (terms=1) where the regime's logits are too large for them.
/// Returns nothing if they are allowed.
std::optional<std::string> refuse_tf32(const Problem& problem, int terms);

/// The number of blocks that fit the registers of one SM at 255 registers for each thread.
int flash_residency(const FlashShape& shape);

/// Operations of a walk of all queries over the keys that they see. Whole tiles of block_m rows
/// (`group` rows for each query) by block_n keys are counted.
double flash_flops(const Problem& problem, const FlashShape& shape, std::int64_t group);

// The sums of decay attention (decay_sums.cuh).

/// Their workspace regions, which are the first two of a variant; none without a decay.
std::vector<Region> decay_regions(const Problem& problem);

/// Appends their launches.
void add_decay_steps(const Problem& problem, std::vector<Step>& steps);

/// Adds their bytes: the log decays read twice, totals and sums written and read once.
void add_decay_traffic(const Problem& problem, Traffic& traffic);

}  // namespace gla_bench::softmax_attention
