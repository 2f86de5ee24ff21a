// cover_tiles() (drawn_tiles.hpp).

#include <algorithm>
#include <map>
#include <set>

#include "harness/config/draws/drawn_problems.hpp"
#include "harness/config/draws/drawn_tiles.hpp"
#include "harness/config/draws/size_classes.hpp"
#include "harness/config/tiles.hpp"

namespace gla_bench {
namespace {

constexpr int offered = 64;          // tiles of a problem from which is chosen
constexpr int offered_of_value = 4;  // further ones with a value that none of those has

/// What a tile may be the first to show: a value, a value beside a property of the problem, or two
/// values. Numbers of axes and values; contexts stand behind the axes.
struct Target {
  std::size_t axis = 0, value = 0, other = 0, other_value = 0;
  auto operator<=>(const Target&) const = default;
};

/// A value by itself counts more than beside a dtype or in a long problem, and that more than any
/// other pair. Many blocks, splits or chunks are where small values of a tile meet long problems.
enum class Rank { value, beside_dtype_or_long, pair };
constexpr double weight(Rank rank) {
  return rank == Rank::value ? 1e6 : rank == Rank::beside_dtype_or_long ? 1e3 : 1;
}

/// What a value of a tile is to be seen beside: a number that is alike for like properties.
struct Context {
  std::size_t number = 0;
  Rank rank = Rank::pair;
};

struct Known {
  Rank rank = Rank::pair;
  int offers = 0;  ///< problems that could show it
  bool shown = false;
};

/// Whether small values of a tile cut it into more parts than a warp has lanes.
bool is_longest(const Shape& shape) {
  const std::int64_t tokens = shape.sequences > 1 ? 0 : std::max(shape.seq, shape.key_seq);
  return tokens >= least_longest || shape.columns >= least_longest_row;
}

int length_class(std::int64_t tokens) {
  int number = -1;
  for (const LengthClass& one : length_classes) number += tokens >= one.least ? 1 : 0;
  return number;
}

class TileChooser {
 public:
  TileChooser(const Variant& variant, const std::vector<Problem>& problems,
              const Narrowing& narrowing, const Limits& limits, std::uint64_t seed)
      : variant_(variant),
        problems_(problems),
        narrowing_(narrowing),
        limits_(limits),
        seed_(seed),
        space_(narrowed(variant.space, narrowing)) {}

  TileCover run(int max_tiles) {
    for (const Problem& problem : problems_) {
      TileCover& cover = cover_;
      cover.of_problems.push_back(
          drawn_candidates(variant_, problem, narrowing_, limits_, offered, seed_));
      offers_.push_back(cover.of_problems.back().accepted);
      cover.of_problems.back().accepted.clear();
      if (!offers_.back().empty()) offer_missing_values(problem, offers_.back());
    }
    for (std::size_t p = 0; p < problems_.size(); ++p) note_offers(p);
    const std::vector<std::size_t> order = in_order_of_kernels();
    for (int round = 0; round < std::max(1, max_tiles); ++round)
      for (const std::size_t p : order) choose(p);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t p = 0; p < problems_.size(); ++p) more |= choose_missing(p);
    }
    return finish();
  }

 private:
  /// The problems' numbers. Where tiles are compiled, one problem of each kernel comes first: what
  /// these show needs no second tile of a kernel for its other problems.
  std::vector<std::size_t> in_order_of_kernels() const {
    std::vector<std::size_t> first, others;
    std::set<std::string> seen;
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      const bool leads = variant_.backend != BackendId::cuda || offers_[p].empty() ||
                         seen.insert(kernel_text(problems_[p])).second;
      (leads ? first : others).push_back(p);
    }
    first.insert(first.end(), others.begin(), others.end());
    return first;
  }

  /// Tiles with values that are rare among those that a problem allows.
  void offer_missing_values(const Problem& problem, std::vector<Candidate>& offers) const {
    if (offers.size() < static_cast<std::size_t>(offered)) return;  // these are all
    for (std::size_t axis = 0; axis < space_.size(); ++axis)
      for (const int value : space_[axis].values) {
        const std::string& name = space_[axis].name;
        if (std::any_of(offers.begin(), offers.end(),
                        [&](const Candidate& offer) { return offer.tile.at(name) == value; }))
          continue;
        Narrowing only = narrowing_;
        only.axes[name] = {value};
        const Candidates found =
            drawn_candidates(variant_, problem, only, limits_, offered_of_value, seed_);
        offers.insert(offers.end(), found.accepted.begin(), found.accepted.end());
      }
  }

  /// The properties of a problem beside which values of tiles are to be seen.
  const std::vector<Context>& contexts(std::size_t p) {
    std::vector<Context>& list = contexts_[p];
    if (!list.empty()) return list;
    const Problem& problem = problems_[p];
    const auto add = [&](const std::string& text, Rank rank) {
      const std::size_t next = space_.size() + context_numbers_.size();
      list.push_back({context_numbers_.try_emplace(text, next).first->second, rank});
    };
    add("dtype " + std::string(name(problem.dtype)), Rank::beside_dtype_or_long);
    if (is_longest(problem.shape)) add("longest", Rank::beside_dtype_or_long);
    add("regime " + problem.gate, Rank::pair);
    add("tokens " +
            std::to_string(length_class(std::max(problem.shape.seq, problem.shape.key_seq))),
        Rank::pair);
    add(problem.shape.sequences > 0 ? "ragged" : "not ragged", Rank::pair);
    return list;
  }

  /// Calls act(target, rank) for all that a tile shows on a problem.
  template <class Act>
  void each_target(std::size_t p, const Tile& tile, Act act) {
    std::vector<std::size_t> values;
    for (const TileAxis& axis : space_) {
      const auto found = std::find(axis.values.begin(), axis.values.end(), tile.at(axis.name));
      values.push_back(static_cast<std::size_t>(found - axis.values.begin()));
    }
    const std::vector<Context>& beside = contexts(p);
    for (std::size_t a = 0; a < values.size(); ++a) {
      act(Target{a, values[a], a, 0}, Rank::value);
      for (std::size_t b = a + 1; b < values.size(); ++b)
        act(Target{a, values[a], b, values[b]}, Rank::pair);
      for (const Context& context : beside)
        act(Target{a, values[a], context.number, 0}, context.rank);
    }
  }

  void note_offers(std::size_t p) {
    std::set<Target> here;
    for (const Candidate& offer : offers_[p])
      each_target(p, offer.tile, [&](const Target& target, Rank rank) {
        known_[target].rank = rank;
        here.insert(target);
      });
    for (const Target& target : here) ++known_[target].offers;
  }

  /// What a tile would show that none has shown. What few problems can show counts more.
  double gain(std::size_t p, const Tile& tile) {
    double sum = 0;
    each_target(p, tile, [&](const Target& target, Rank) {
      const Known& known = known_.at(target);
      if (!known.shown) sum += weight(known.rank) / known.offers;
    });
    return sum;
  }

  bool shows_more_than_pairs(std::size_t p, const Tile& tile) {
    bool any = false;
    each_target(p, tile, [&](const Target& target, Rank rank) {
      any |= rank != Rank::pair && !known_.at(target).shown;
    });
    return any;
  }

  bool is_taken(std::size_t p, const Tile& tile) const {
    const auto& taken = cover_.of_problems[p].accepted;
    return std::any_of(taken.begin(), taken.end(),
                       [&](const Candidate& candidate) { return candidate.tile == tile; });
  }

  /// Adds to a problem's offers the tiles of its kernel that are built and that it allows: the
  /// offers are some of its tiles, and another problem's may be others.
  void offer_built(std::size_t p, const std::set<Tile>& built) {
    for (const Tile& tile : built) {
      if (std::any_of(offers_[p].begin(), offers_[p].end(),
                      [&](const Candidate& offer) { return offer.tile == tile; }))
        continue;
      Narrowing only = narrowing_;
      for (const TileAxis& axis : space_) only.axes[axis.name] = {tile.at(axis.name)};
      const Candidates found = drawn_candidates(variant_, problems_[p], only, limits_, 1, seed_);
      for (const Candidate& candidate : found.accepted) {
        offers_[p].push_back(candidate);
        each_target(p, candidate.tile, [&](const Target& target, Rank rank) {
          Known& known = known_[target];
          known.rank = rank;
          ++known.offers;
        });
      }
    }
  }

  const Candidate* best_of(std::size_t p, const std::set<Tile>* among) {
    const Candidate* best = nullptr;
    double most = -1;
    for (const Candidate& offer : offers_[p]) {
      if (is_taken(p, offer.tile) || (among != nullptr && !among->contains(offer.tile))) continue;
      if (const double gained = gain(p, offer.tile); gained > most) {
        most = gained;
        best = &offer;
      }
    }
    return best;
  }

  void take(std::size_t p, const Candidate& candidate) {
    each_target(p, candidate.tile,
                [&](const Target& target, Rank) { known_.at(target).shown = true; });
    if (variant_.backend == BackendId::cuda)
      built_[kernel_text(problems_[p])].insert(candidate.tile);
    cover_.of_problems[p].accepted.push_back(candidate);
  }

  void choose(std::size_t p) {
    const auto built = built_.find(kernel_text(problems_[p]));
    if (built != built_.end() && !offers_[p].empty()) offer_built(p, built->second);
    const Candidate* best = best_of(p, nullptr);
    if (best == nullptr) return;
    // Where tiles are compiled, one that is built already is preferred to one that shows a pair.
    if (built != built_.end() && !shows_more_than_pairs(p, best->tile))
      if (const Candidate* again = best_of(p, &built->second)) best = again;
    take(p, *best);
  }

  /// Takes one more tile for a value that would be missing otherwise. Returns whether there is one.
  bool choose_missing(std::size_t p) {
    const Candidate* best = best_of(p, nullptr);
    if (best == nullptr || !shows_more_than_pairs(p, best->tile)) return false;
    take(p, *best);
    return true;
  }

  TileCover finish() {
    for (Candidates& found : cover_.of_problems) {
      found.narrowed = tile_count(variant_.space) - found.accepted.size();
      for (const Rejected& rejected : found.rejected) found.narrowed -= rejected.tiles;
    }
    for (const auto& [target, known] : known_) {
      const bool value = known.rank == Rank::value;
      ++(value ? cover_.coverage.values : cover_.coverage.pairs);
      if (known.shown) ++(value ? cover_.coverage.values_covered : cover_.coverage.pairs_covered);
    }
    return std::move(cover_);
  }

  const Variant& variant_;
  const std::vector<Problem>& problems_;
  const Narrowing& narrowing_;
  const Limits& limits_;
  std::uint64_t seed_;
  TileSpace space_;
  TileCover cover_;
  std::vector<std::vector<Candidate>> offers_;
  std::map<std::size_t, std::vector<Context>> contexts_;
  std::map<std::string, std::size_t> context_numbers_;
  std::map<Target, Known> known_;
  std::map<std::string, std::set<Tile>> built_;
};

}  // namespace

TileCover cover_tiles(const Variant& variant, const std::vector<Problem>& problems,
                      const Narrowing& narrowing, const Limits& limits, int max_tiles,
                      std::uint64_t seed) {
  return TileChooser(variant, problems, narrowing, limits, seed).run(max_tiles);
}

}  // namespace gla_bench
