#include "harness/config/draws/drawn_tiles.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "harness/config/draws/drawn_problems.hpp"
#include "harness/config/draws/draws.hpp"
#include "harness/config/tiles.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t alike_reasons = 1000;  // of so many tiles: the problem is what is refused

void add_rejected(Candidates& found, Candidate candidate, std::string reason) {
  const std::string kind = without_digits(reason);
  for (Rejected& known : found.rejected)
    if (without_digits(known.reason) == kind) {
      ++known.tiles;
      return;
    }
  found.rejected.push_back({std::move(candidate), std::move(reason), 1});
}

}  // namespace

DrawnTiles::DrawnTiles(const TileSpace& space, const Problem& problem, std::string_view variant,
                       std::uint64_t seed)
    : space_(space) {
  for (const TileAxis& axis : space) count_ *= axis.values.size();
  Draws draws(seed, std::string(variant) + " on " + kernel_text(problem) +
                        (problem.seed % 2 == 0 ? " even" : " odd"));
  if (count_ < 2) return;
  first_ = draws.word() % count_;
  // Steps without a common divisor reach every tile.
  do step_ = 1 + draws.word() % (count_ - 1);
  while (std::gcd(step_, count_) != 1);
}

Tile DrawnTiles::at(std::size_t place) const {
  std::size_t index = (first_ + place % count_ * step_) % count_;
  Tile tile;
  for (auto axis = space_.rbegin(); axis != space_.rend(); ++axis) {
    tile[axis->name] = axis->values[index % axis->values.size()];
    index /= axis->values.size();
  }
  return tile;
}

Candidates drawn_candidates(const Variant& variant, const Problem& problem,
                            const Narrowing& narrowing, const Limits& limits, int max_tiles,
                            std::uint64_t seed) {
  const TileSpace space = narrowed(variant.space, narrowing);
  const DrawnTiles order(space, problem, variant.name, seed);
  const auto most = max_tiles > 0 ? static_cast<std::size_t>(max_tiles) : order.count();
  Candidates result;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < order.count() && result.accepted.size() < most; ++i) {
    Candidate candidate{&variant, problem, order.at(i)};
    if (!allows(narrowing, candidate.tile)) continue;
    auto reason = refuse_tile(variant, problem, candidate.tile, limits, narrowing.arithmetic);
    if (!reason) {
      result.accepted.push_back(std::move(candidate));
      continue;
    }
    if (!result.accepted.empty()) continue;
    add_rejected(result, std::move(candidate), std::move(*reason));
    if (++refused == alike_reasons && result.rejected.size() == 1) break;
  }
  if (!result.accepted.empty()) result.rejected.clear();
  std::size_t all = tile_count(variant.space);
  for (const Rejected& rejected : result.rejected) all -= rejected.tiles;
  result.narrowed = all - result.accepted.size();
  return result;
}

}  // namespace gla_bench
