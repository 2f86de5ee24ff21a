#pragma once
// Compares errors with their baselines. A kernel that became less accurate fails, even where it is
// still within its tolerance. Pure functions of records.

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Identifies one error of one output of one candidate, independent of the seed.
struct AccuracyKey {
  Problem problem;  ///< with seed 0
  std::string variant;
  BackendId backend = BackendId::host;
  Tile tile;
  std::string tensor;
  std::string metric;  ///< "rel_l2", "worst_chunk_rel_l2", "max_abs"
  auto operator<=>(const AccuracyKey&) const = default;
};

/// The values of that error over its seeds.
struct AccuracySpread {
  double lowest = 0, highest = 0;
  double bound = 0;  ///< the largest bound that applied to a seed
  std::size_t seeds = 0;

  /// The limit above which an error counts as worse. It is the highest value seen plus the spread
  /// (highest minus lowest); the spread is taken as at least a hundredth of the bound.
  double limit() const;
};

using AccuracyBaseline = std::map<AccuracyKey, AccuracySpread>;

/// With fewer seeds the spread is unknown.
constexpr std::size_t least_seeds = 3;

/// Made from the records that were verified and right. Peers are left out.
AccuracyBaseline accuracy_baseline(std::span<const Record> records);

/// The errors of a record that was verified and right; none of a peer that another program
/// measured.
std::vector<AccuracyKey> errors_of(const Record& record);

/// One text for each error of the record that is above its baseline's limit: "o: rel_l2 0.0021 is
/// above 0.0018, what it was over 5 seeds and their spread". NaN counts as above. `unknown` counts
/// the errors that have no baseline of at least least_seeds seeds.
std::vector<std::string> accuracy_losses(const Record& record, const AccuracyBaseline& baseline,
                                         std::size_t& unknown);

/// {"accuracy_version": 1, "rows": [..]}: configs/schema/accuracy.schema.json.
Json accuracy_to_json(const AccuracyBaseline& baseline);
/// @throws InputError for anything that accuracy_to_json() does not write
AccuracyBaseline read_accuracy(const JsonNode& node);

}  // namespace gla_bench
