// Local search: from the best of a few to its neighbours, as long as that helps, with restarts.

#include <algorithm>
#include <set>

#include "harness/search/strategies.hpp"

namespace gla_bench::search {
namespace {

constexpr std::size_t least_starts = 8;
constexpr std::size_t restarts = 4;  // looked at when no neighbour is better

/// The values of each axis that occur among a variant's candidates, in order.
std::map<std::string, std::vector<int>> values_of(const std::vector<SearchCandidate>& candidates,
                                                  const std::string& variant) {
  std::map<std::string, std::set<int>> sets;
  for (const SearchCandidate& candidate : candidates)
    if (candidate.variant == variant)
      for (const auto& [axis, value] : candidate.tile) sets[axis].insert(value);
  std::map<std::string, std::vector<int>> values;
  for (const auto& [axis, set] : sets) values[axis].assign(set.begin(), set.end());
  return values;
}

/// True where the tiles differ in one axis alone, by one step among the axis's values.
bool are_neighbours(const Tile& a, const Tile& b,
                    const std::map<std::string, std::vector<int>>& values) {
  int steps = 0;
  for (const auto& [axis, value] : a) {
    const auto other = b.find(axis);
    if (other == b.end()) return false;
    const auto& list = values.at(axis);
    const auto place = [&](int v) { return std::lower_bound(list.begin(), list.end(), v); };
    steps += static_cast<int>(std::abs(place(value) - place(other->second)));
  }
  return steps == 1 && a.size() == b.size();
}

}  // namespace

Local::Local(std::vector<SearchCandidate> candidates, const SearchOptions& options)
    : Halving(std::move(candidates), options), visited_(pool_.size(), false) {}

std::vector<std::size_t> Local::unvisited() const {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < pool_.size(); ++i)
    if (!visited_[i]) list.push_back(i);
  return list;
}

std::size_t Local::visits_left() const {
  const SearchOptions& options = pool_.options();
  const auto share =
      static_cast<std::size_t>(options.local_share * static_cast<double>(pool_.size()));
  const std::size_t most = std::max(options.least_visited, share);
  const auto visited = static_cast<std::size_t>(std::count(visited_.begin(), visited_.end(), true));
  return most > visited ? most - visited : 0;
}

/// One candidate of each variant, drawn at random, and some more.
std::vector<std::size_t> Local::start() {
  std::vector<std::size_t> first, others;
  std::set<std::string> variants;
  for (const std::size_t i : shuffled(unvisited()))
    (variants.insert(pool_.candidates()[i].variant).second ? first : others).push_back(i);
  for (const std::size_t i : others)
    if (first.size() < least_starts) first.push_back(i);
  return first;
}

std::vector<std::size_t> Local::neighbours(std::size_t of) const {
  const SearchCandidate& centre = pool_.candidates()[of];
  const auto values = values_of(pool_.candidates(), centre.variant);
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < pool_.size(); ++i)
    if (!visited_[i] && pool_.candidates()[i].variant == centre.variant &&
        are_neighbours(pool_.candidates()[i].tile, centre.tile, values))
      list.push_back(i);
  return list;
}

std::vector<std::size_t> Local::look() {
  std::vector<std::size_t> list;
  if (std::none_of(visited_.begin(), visited_.end(), [](bool v) { return v; })) {
    list = start();
  } else {
    const auto best = pool_.best();
    if (best && best != centre_) {
      centre_ = best;
      list = neighbours(*best);
    }
    if (list.empty()) {
      list = shuffled(unvisited());
      list.resize(std::min(list.size(), restarts));
    }
  }
  list.resize(std::min(list.size(), visits_left()));
  for (const std::size_t i : list) visited_[i] = true;
  return list;
}

}  // namespace gla_bench::search
