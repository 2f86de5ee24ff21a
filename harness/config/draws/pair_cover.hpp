#pragma once
// Few rows that hold every pair of values of all properties at least once: a covering array of
// strength two, chosen greedily. It knows nothing of problems.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gla_bench {

/// A property and the values that it may have. The first value is the plain one: it should exist
/// together with most others.
struct Factor {
  std::string name;
  std::vector<std::string> levels;
};

/// For each factor the number of one of its levels.
using Levels = std::vector<int>;

/// What is to be covered.
struct CoverTask {
  std::vector<Factor> factors;
  /// What rows may have for the first factors. Each of these beginnings has as many levels as all
  /// others. If there are none, the first factors are as free as the rest.
  std::vector<Levels> beginnings;
  /// Whether there is anything with these levels. Called with levels of all factors.
  std::function<bool(const Levels&)> exists;
  int most_rows = 0;  ///< 0: as many as it takes
};

/// Two levels of different factors.
struct LevelPair {
  int factor = 0, level = 0, other_factor = 0, other_level = 0;
  auto operator<=>(const LevelPair&) const = default;
};

struct PairCover {
  std::vector<Levels> rows;
  std::size_t pairs = 0;           ///< of levels of different factors
  std::vector<LevelPair> refused;  ///< there is nothing with both
  std::vector<LevelPair> missed;   ///< left out because of `most_rows` or of the beginnings
  std::size_t covered() const { return pairs - refused.size() - missed.size(); }
};

/// Covers all pairs that exist. A pair counts as refused when some hundred rows with it, drawn from
/// `seed`, do not exist. The same task and seed give the same rows everywhere.
PairCover cover_pairs(const CoverTask& task, std::uint64_t seed);

}  // namespace gla_bench
