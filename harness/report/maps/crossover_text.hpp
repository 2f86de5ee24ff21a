#pragma once
// Cross-over maps for people and for programs.

#include <span>
#include <string>

#include "harness/report/maps/crossover.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

struct MapStyle {
  bool markdown = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// A table for each map: lengths across, batch * heads down. A place names the winner. In brackets
/// it names the fastest variant that is measurably slower, with its time over the winner's. "a = b"
/// means that the two cannot be told apart, and "none" that variants were tried and none is right.
/// A place that was not measured is empty. Where the names do not fit the width, initials with a
/// key replace them, and the lengths are spread over several tables. Below the table stands where
/// the winner changes along a row.
std::string crossover_text(std::span<const CrossoverMap> maps, const ContestPolicy& policy,
                           const MapStyle& style);

/// The same as JSON, with every variant's time: configs/schema/map.schema.json.
Json crossover_json(std::span<const CrossoverMap> maps, const ContestPolicy& policy);

/// Names -> short ones that differ: "chunk_fused" -> "CF", "flash2" -> "F2", a second "CF" ->
/// "CF_2".
std::map<std::string, std::string> initials(const std::vector<std::string>& names);

}  // namespace gla_bench
