#pragma once
// Cross-over maps: over length and batch * heads, which variant wins, and by how much. Records ->
// maps; crossover_text.hpp and crossover_json.hpp write them. Pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/extents.hpp"
#include "harness/records/contest.hpp"

namespace gla_bench {

/// All problems of one place in a map: they differ in how batch and heads make up their product,
/// and in their seeds.
struct MapCell {
  std::int64_t length = 0, width = 0;  ///< by the map's axes
  std::vector<Contest> points;
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

/// The maps of all records, in the order in which their subjects first come. A problem on which
/// candidates were tried and none may win has a contest without entrants.
std::vector<CrossoverMap> crossover_maps(std::span<const Results> files,
                                         const ContestPolicy& policy = {});

/// "gla forward bfloat16 K=128 V=128 gate=mild [cuda] on NVIDIA H200"
std::string describe(const MapSubject& subject);

/// The extents of a MapSubject's shape that all problems of the map have, in the table's order. Not
/// among them: heads, there the queries' to one of keys, and sequences, there 1 for ragged ones.
std::vector<const ExtentAxis*> common_extents(const Shape& common);

}  // namespace gla_bench
