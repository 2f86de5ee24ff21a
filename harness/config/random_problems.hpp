#pragma once
// Problems drawn from one number: how a sweep with "random" lists its problems, and which tile of a
// variant each of them takes. Pure functions: the same seed gives the same problems everywhere.

#include <cstdint>
#include <vector>

#include "core/variant.hpp"
#include "harness/config/config.hpp"

namespace gla_bench {

/// Multiply-adds of the recurrence (batch seq heads key_dim value_dim) of a drawn problem at most:
/// its float64 reference takes some hundredths of a second on a few cores.
constexpr std::int64_t most_random_work = 60'000'000;

/// Whether an operator's problems can be drawn: it has the extents of the linear recurrences.
bool has_random_problems(const Operator& op);

/// The sweep's `random->problems` problems, drawn from `sweep.seed`; fewer where what the sweep's
/// axes allow does not exist. What kernels are compiled for (dims, dtype, options, whether
/// sequences are ragged) and the layout and states come from `random->kernels` combinations; batch,
/// seq, heads, lengths, regime and the inputs' seed are each problem's own. A sixth of the problems
/// has few tokens a sequence (decoding), a third ends next to a multiple of 16 or 64, where kernels
/// have their edges. Of the sweep's dtypes, bfloat16 is as likely as two others.
std::vector<Problem> random_problems(const Sweep& sweep);

/// Tiles of a space in an order that is drawn from `seed` and what the problem's kernels are
/// compiled for, one of two orders for each such combination: the first that the problem allows is
/// its tile, so that a thousand problems need some hundred kernels.
class DrawnTiles {
 public:
  /// @throws nothing; an empty space has one tile, the empty one
  DrawnTiles(const TileSpace& space, const Problem& problem, std::string_view variant,
             std::uint64_t seed);
  std::size_t count() const { return count_; }
  /// Each tile of the space once, for places below count().
  Tile at(std::size_t place) const;

 private:
  const TileSpace& space_;
  std::size_t count_ = 1, first_ = 0, step_ = 1;
};

}  // namespace gla_bench
