#pragma once
// Problems drawn from one number: how a sweep with "random" lists its problems, and which tile of a
// variant each of them takes. Pure functions: the same seed gives the same problems everywhere.

#include <cstdint>
#include <vector>

#include "core/variant.hpp"
#include "harness/config/config.hpp"

namespace gla_bench {

/// The most multiply-adds of the recurrence (batch seq heads key_dim value_dim) that a drawn
/// problem may have. Its float64 reference then takes some hundredths of a second on a few cores.
constexpr std::int64_t most_random_work = 60'000'000;

/// Whether an operator's problems can be drawn. Only operators with the extents of the linear
/// recurrences can.
bool has_random_problems(const Operator& op);

/// Draws the sweep's `random->problems` problems from `sweep.seed`. There are fewer where the
/// operator does not have some of what the sweep's axes allow. What kernels are compiled for (dims,
/// dtype, options, whether sequences are ragged), the layout and the states come from
/// `random->kernels` combinations. Batch, seq, heads, lengths, regime and the inputs' seed are
/// drawn for each problem. A sixth of the problems have few tokens per sequence (decoding). A third
/// end next to a multiple of 16 or 64, where kernels have their edge cases. Of the sweep's dtypes,
/// bfloat16 is as likely as two others.
std::vector<Problem> random_problems(const Sweep& sweep);

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

}  // namespace gla_bench
