#pragma once
// Which tiles of a variant the problems of a drawn sweep take.

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/variant.hpp"
#include "harness/config/sweep.hpp"

namespace gla_bench {

/// The tiles of a space in a drawn order. The order depends on `seed` and on what the problem's
/// kernels are compiled for, with two orders for each such combination. A problem uses the first
/// tile that it allows, so that a thousand problems need only some hundred kernels.
class DrawnTiles {
 public:
  /// @throws nothing; an empty space has one tile, the empty one
  DrawnTiles(const TileSpace& space, const Problem& problem, std::string_view variant,
             std::uint64_t seed);
  std::size_t count() const { return count_; }
  /// Gives each tile of the space exactly once, for places below count().
  Tile at(std::size_t place) const;

 private:
  const TileSpace& space_;
  std::size_t count_ = 1, first_ = 0, step_ = 1;
};

/// The first `max_tiles` tiles in the drawn order that the problem allows (0: all). The tiles that
/// were passed over count as narrowed, or as rejected if the problem allows none. Where a variant
/// gives one and the same reason for a thousand tiles, the others are not asked for.
Candidates drawn_candidates(const Variant& variant, const Problem& problem,
                            const Narrowing& narrowing, const Limits& limits, int max_tiles,
                            std::uint64_t seed);

/// What tiles of one variant cover over the problems that it takes.
struct TileCoverage {
  std::size_t values = 0, values_covered = 0;  ///< of the tile axes
  std::size_t pairs = 0, pairs_covered = 0;    ///< such a value and a dtype, a regime or another
};

/// The tiles of one variant for all problems of a drawn sweep.
struct TileCover {
  std::vector<Candidates> of_problems;  ///< in the problems' order
  TileCoverage coverage;
};

/// Chooses tiles so that over all problems every value of every tile axis appears that some problem
/// allows, also beside every dtype and in a problem of the longest class, and as many pairs of
/// values, and of values with regimes, as one tile for each problem can hold. On a GPU, problems of
/// the same kernels share a tile unless another one brings something that must appear and is
/// missing. A problem takes `max_tiles` tiles, or more where something would be missing otherwise.
/// The tiles of a problem from which is chosen are at most some thousand, in a drawn order.
TileCover cover_tiles(const Variant& variant, const std::vector<Problem>& problems,
                      const Narrowing& narrowing, const Limits& limits, int max_tiles,
                      std::uint64_t seed);

}  // namespace gla_bench
