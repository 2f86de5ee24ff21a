#pragma once
// Cross-over maps: over length and batch * heads, which variant wins, and by how much. Records ->
// maps; crossover_text.hpp and crossover_json.hpp write them. Pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/support/bootstrap.hpp"

namespace gla_bench {

struct CrossoverPolicy {
  /// What medians of one run, and of two runs, may be apart for the same code: intervals are
  /// widened by it either way.
  double drift = 0.01;
  double drift_between_files = 0.03;
  BootstrapPolicy bootstrap{0.95, 500, 1};
};

/// A variant's fastest right tile on a problem.
struct Contender {
  const Record* record = nullptr;
  std::string file;  ///< the results file that it is from
  double median_ms = 0;
  /// Its time over the winner's, with the interval; 1 for the winner itself.
  RatioEstimate over_winner{1, 1, 1, 1, 0};
  bool tied = false;  ///< the interval reaches down to 1: it can not be told from the winner
};

/// What is known of one problem.
struct MapPoint {
  Problem problem;
  std::vector<Contender> contenders;  ///< the fastest first: the winner; empty: none was right

  /// The winner and those that are tied with it.
  std::vector<std::string> winners() const;
  /// The fastest that is not tied; null where there is none.
  const Contender* runner_up() const;
};

/// All problems of one place in a map: they differ in how batch and heads make up their product,
/// and in their seeds.
struct MapCell {
  std::int64_t length = 0, width = 0;  ///< by the map's axes
  std::vector<MapPoint> points;
};

/// What all problems of a map have in common: everything but its two axes, and the seed.
struct MapSubject {
  Problem common;  ///< its shape has 0 for what the axes say; heads: of queries to one of keys
  BackendId backend = BackendId::host;
  std::string device;  ///< as the environment names it
  auto operator<=>(const MapSubject&) const = default;
};

struct CrossoverMap {
  MapSubject subject;
  /// Names of the axes: "T" (seq), "keys" (key_seq, where it is given) or "columns" (of a softmax);
  /// "B*H" or "rows".
  std::string length_axis, width_axis;
  std::vector<std::int64_t> lengths, widths;  ///< rising
  std::vector<MapCell> cells;                 ///< by width, then length; only those with data
};

/// The maps of all records, in the order in which their subjects first come, over the times that
/// may_win() (tuned_table/rank.hpp). A problem on which candidates were tried and none may win has
/// a point without contenders.
std::vector<CrossoverMap> crossover_maps(std::span<const Results> files,
                                         const CrossoverPolicy& policy = {});

/// "gla forward bfloat16 K=128 V=128 gate=mild [cuda] on NVIDIA H200"
std::string describe(const MapSubject& subject);

}  // namespace gla_bench
