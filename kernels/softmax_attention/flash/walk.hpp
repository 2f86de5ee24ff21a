#pragma once
// The host's side of walk.cuh, for the variants that launch it.

#include <optional>
#include <string>

#include "core/variant.hpp"
#include "kernels/softmax_attention/flash/layout.h"

namespace gla_bench::softmax_attention {

/// How a walk treats its outputs, as far as it decides what fits.
struct FlashUse {
  bool divides = false;  ///< at every tile of keys
};

/// Shape of a walk with rows and keys dealt out to warps_m * warps_n warps; block_m, block_n and
/// stages are the tile's. Zeros are made ones, so that any tile has a shape.
FlashShape flash_shape(const Problem& problem, const Tile& tile, int warps_m, int warps_n);

/// Why such a walk can not run: head sizes beyond 256, a scale that is not above zero, lengths
/// beyond 2^30, warps without rows or keys, registers, shared memory; or nothing. `tile` has a
/// choice for terms.
std::optional<std::string> refuse_flash(const Problem& problem, const Tile& tile,
                                        const FlashShape& shape, const FlashUse& use,
                                        const Limits& limits);

/// float32 products in tf32 (terms=1) where the regime's logits do not bear it, or nothing.
std::optional<std::string> refuse_tf32(const Problem& problem, int terms);

/// Blocks that share a multiprocessor's registers at 255 a thread.
int flash_residency(const FlashShape& shape);

/// Operations of a walk of all queries over the keys that they see, whole tiles of block_m rows
/// (`group` rows a query) by block_n keys.
double flash_flops(const Problem& problem, const FlashShape& shape, std::int64_t group);

// Decay attention's sums (decay_sums.cuh).

/// Their workspace regions, which are a variant's first two; none without decay.
std::vector<Region> decay_regions(const Problem& problem);

/// Appends their launches.
void add_decay_steps(const Problem& problem, std::vector<Step>& steps);

/// Adds their bytes: the log decays read twice, totals and sums written and read once.
void add_decay_traffic(const Problem& problem, Traffic& traffic);

}  // namespace gla_bench::softmax_attention
