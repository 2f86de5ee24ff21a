#pragma once
// Records by problem: who is how fast, and how sure that is. What the summaries of a report are
// made of. Pure functions of records.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/report/maps/crossover.hpp"

namespace gla_bench {

/// A variant's fastest right tile on a problem, or the fastest right peer.
struct Entrant {
  const Results* file = nullptr;
  const Record* record = nullptr;
  /// Its time over the winner's, with the interval; 1 for the winner itself.
  RatioEstimate over_winner{1, 1, 1, 1, 0};
  bool tied = false;  ///< the interval reaches down to 1: it can not be told from the winner

  double ms() const { return record->timing->cold.median_ms; }
};

/// One problem on one device.
struct Contest {
  Problem problem;
  std::string device;
  std::vector<Entrant> entrants;  ///< of ours, the fastest first; empty: nothing right was timed
  std::optional<Entrant> peer;
  double copy_gb_per_s = 0;  ///< of the winner's file; 0 where it is not known

  /// Null where nothing right was timed.
  const Entrant* winner() const { return entrants.empty() ? nullptr : &entrants.front(); }
  const Entrant* next() const { return entrants.size() < 2 ? nullptr : &entrants[1]; }
  /// What the floor's bytes take at the copy rate; NaN where that is not known.
  double floor_ms() const;
  /// The floor's time over the winner's; NaN where either is not known.
  double of_floor() const;
};

/// In the order of problems. `files` have to outlive them. Rows that were only refused, left out or
/// built make no contest; the policy's intervals are those of maps.
std::vector<Contest> contests_of(std::span<const Results> files,
                                 const CrossoverPolicy& policy = {});

/// What a problem is of ("gla forward bfloat16"), and the rest of describe().
struct ProblemName {
  std::string group, rest;
};
ProblemName name_of(const Problem& problem);

}  // namespace gla_bench
