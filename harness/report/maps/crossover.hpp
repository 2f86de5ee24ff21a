#pragma once
// Cross-over maps: over length and batch * heads, they show which variant wins and by how much.
// This file makes maps of records; crossover_text.hpp and crossover_json.hpp write them. Pure
// functions.

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
  std::int64_t length = 0, width = 0;  ///< its coordinates on the map's axes
  std::vector<Contest> points;
};

/// What all problems of a map have in common: everything but its two axes, and the seed.
struct MapSubject {
  Problem common;  ///< its shape has 0 for what the axes say; heads: query heads for each key head
  BackendId backend = BackendId::host;
  std::string device;  ///< as the environment names it
  auto operator<=>(const MapSubject&) const = default;
};

struct CrossoverMap {
  MapSubject subject;
  /// Names of the axes: "T" (seq), "keys" (key_seq, where it is given) or "columns" (of a softmax);
  /// "B*H" or "rows".
  std::string length_axis, width_axis;
  std::vector<std::int64_t> lengths, widths;  ///< in ascending order
  std::vector<MapCell> cells;                 ///< by width, then length; only those with data
};

/// The maps of all records, in the order in which their subjects first appear. Where candidates
/// were tried on a problem and none may win, its contest has no entrants.
std::vector<CrossoverMap> crossover_maps(std::span<const Results> files,
                                         const ContestPolicy& policy = {});

/// "gla forward bfloat16 K=128 V=128 gate=mild [cuda] on NVIDIA H200"
std::string describe(const MapSubject& subject);

/// The extents of a MapSubject's shape that all problems of the map have, in the table's order. Two
/// are not among them: heads, which there is the number of query heads for each key head, and
/// sequences, which there is 1 for ragged ones.
std::vector<const ExtentAxis*> common_extents(const Shape& common);

}  // namespace gla_bench
