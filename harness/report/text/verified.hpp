#pragma once
// The first question of a report: is everything right?

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"

namespace gla_bench {

/// How many of this program's records ended in which way. Peers are counted apart, since their
/// failures are not this program's to mend.
struct VerifiedCounts {
  std::size_t tried = 0;           ///< neither refused nor left out
  std::size_t right = 0;           ///< verified against float64, and nothing happened to them later
  std::size_t failed = 0;          ///< is_failure()
  std::size_t unjudged = 0;        ///< neither right nor wrong, such as those that were only built
  std::size_t untried = 0;         ///< asked for, and without a record since the run ended early
  std::set<std::string> ended_by;  ///< what ended it
  std::size_t refused = 0, left_out = 0, suspect = 0, throttled = 0, stale = 0;
  std::size_t peers = 0, peers_failed = 0;
};
VerifiedCounts count_verified(std::span<const Results> files);

/// "All 1835 candidates verified against float64", "2 failures among 14 candidates", or "2 of 12
/// candidates verified" where something has no verdict or was never tried. After it
/// come further counts, each set off by a point: "866 combinations refused with a reason".
std::string describe(const VerifiedCounts& counts);

/// The failed records with their files, this program's first.
struct FailedRecord {
  const Results* file = nullptr;
  const Record* record = nullptr;
};
std::vector<FailedRecord> failed_records(std::span<const Results> files);

}  // namespace gla_bench
