#pragma once
// Errors held against what they were: a kernel that became less exact fails, also inside its
// tolerance. Pure functions of records.

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// One error of one output of one candidate, whatever the seed.
struct AccuracyKey {
  Problem problem;  ///< with seed 0
  std::string variant;
  BackendId backend = BackendId::host;
  Tile tile;
  std::string tensor;
  std::string metric;  ///< "rel_l2", "worst_chunk_rel_l2", "max_abs"
  auto operator<=>(const AccuracyKey&) const = default;
};

/// What that error was over its seeds.
struct AccuracySpread {
  double lowest = 0, highest = 0;
  double bound = 0;  ///< the largest that a seed was held to
  std::size_t seeds = 0;

  /// What an error may reach before it counts as worse: the highest seen and the distance from the
  /// lowest to it, or a hundredth of the bound where the seeds are nearer to each other than that.
  double limit() const;
};

using AccuracyBaseline = std::map<AccuracyKey, AccuracySpread>;

/// Fewer seeds say nothing about a spread.
constexpr std::size_t least_seeds = 3;

/// Of the records that were verified and right; peers are left out.
AccuracyBaseline accuracy_baseline(std::span<const Record> records);

/// "o: rel_l2 0.0021 is above 0.0018, what it was over 5 seeds and their spread", for each error
/// of the record that is above its baseline's limit; NaN is. `unknown` counts errors for which
/// there is no baseline of least_seeds and more.
std::vector<std::string> accuracy_losses(const Record& record, const AccuracyBaseline& baseline,
                                         std::size_t& unknown);

/// {"accuracy_version": 1, "rows": [..]}: configs/schema/accuracy.schema.json.
Json accuracy_to_json(const AccuracyBaseline& baseline);
/// @throws InputError for anything that accuracy_to_json() does not write
AccuracyBaseline read_accuracy(const JsonNode& node);

}  // namespace gla_bench
