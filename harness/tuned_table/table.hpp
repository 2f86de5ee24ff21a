#pragma once
// The result of tuning: which candidate to use for which problems, by how much it is better, how
// exact it is, where that holds, and what it costs elsewhere. These are plain values, made from
// records alone (build.hpp).

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/tile.hpp"
#include "harness/support/facts.hpp"
#include "harness/tuned_table/bucket.hpp"

namespace gla_bench {

/// A candidate as an entry describes it. Its times are relative to the winner's: medians with cold
/// caches, as the geometric mean over the problems that both were measured on, with its 95 %
/// interval.
struct TunedChoice {
  std::string variant;
  Tile tile;
  std::string source_hash;
  double error = 0;            ///< the largest rel_l2 of any output on any of the problems
  double workspace_bytes = 0;  ///< the most on any of the problems
  double ratio = 1, low = 1, high = 1;
};

/// A problem whose records went into an entry.
struct TunedProblem {
  Problem problem;
  double median_ms = 0, low_ms = 0, high_ms = 0;  ///< of the entry's winner; 0: not measured there
  std::string best_variant;                       ///< the fastest right candidate of this problem
  Tile best_tile;
  double best_ms = 0;
  std::optional<double> regret;  ///< median_ms / best_ms - 1
};

struct TunedEntry {
  Bucket bucket;
  std::string measured;              ///< when, UTC, as "started" of the newest of its files
  std::size_t environment = 0;       ///< index in TunedTable::environments
  std::vector<std::string> sources;  ///< results files
  TunedChoice winner;
  /// What decided the choice: "time"; "error" or "workspace" among candidates whose times cannot be
  /// told apart; "only" where there was no other candidate.
  std::string won_by;
  std::optional<TunedChoice> runner_up;  ///< the fastest of the others, tied or not
  std::vector<TunedChoice> ties;         ///< not distinguishable from the fastest; the best first
  std::vector<TunedChoice> others;       ///< the fastest of each further variant
  std::vector<TunedProblem> problems;
  double median_regret = 0, worst_regret = 0;  ///< of using the winner on all of its problems
  std::size_t candidates = 0;                  ///< how many were right and timed
  std::size_t failed =
      0;  ///< how many were wrong, crashed or hung on any of the problems and so cannot win
  std::size_t throttled = 0;  ///< how many were timed while something slowed the device down
  bool stale = false;         ///< the winner's sources have changed since
};

struct TunedTable {
  std::string path;  ///< for messages and records; empty where it is not in a file
  std::string device, backend;
  std::vector<Facts> environments;  ///< the facts that comparability knows, each set once
  std::vector<TunedEntry> entries;  ///< one for each bucket, in the order of the buckets
};

}  // namespace gla_bench
