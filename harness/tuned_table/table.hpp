#pragma once
// What tuning is for: which candidate to use for which problems, by how much it is better, how
// exact it is, where that holds, and what it costs elsewhere. Values; made from records alone
// (build.hpp).

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/tile.hpp"
#include "harness/support/facts.hpp"
#include "harness/tuned_table/bucket.hpp"

namespace gla_bench {

/// A candidate as an entry knows it. Times over the winner's: medians with cold caches, the
/// geometric mean over the problems that both were measured on, with its 95 % interval.
struct TunedChoice {
  std::string variant;
  Tile tile;
  std::string source_hash;
  double error = 0;            ///< the largest rel_l2 of any output on any of the problems
  double workspace_bytes = 0;  ///< the most on any of the problems
  double ratio = 1, low = 1, high = 1;
};

/// A problem that an entry comes from.
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
  std::size_t environment = 0;       ///< place in TunedTable::environments
  std::vector<std::string> sources;  ///< results files
  TunedChoice winner;
  /// What decided: "time"; "error" or "workspace" among candidates whose times can not be told
  /// apart; "only": there was no other.
  std::string won_by;
  std::optional<TunedChoice> runner_up;  ///< the fastest of the others, tied or not
  std::vector<TunedChoice> ties;         ///< not distinguishable from the fastest; the best first
  std::vector<TunedChoice> others;       ///< the fastest of each further variant
  std::vector<TunedProblem> problems;
  double median_regret = 0, worst_regret = 0;  ///< of using the winner on all of its problems
  std::size_t candidates = 0;                  ///< that were right and timed
  std::size_t failed = 0;  ///< that were wrong, crashed or hung on any of the problems: can not win
  std::size_t throttled = 0;  ///< timed while something slowed the device down
  bool stale = false;         ///< the winner's sources have changed since
};

struct TunedTable {
  std::string path;  ///< for messages and records; empty where it is not in a file
  std::string device, backend;
  std::vector<Facts> environments;  ///< facts that comparability knows, each set once
  std::vector<TunedEntry> entries;  ///< by bucket, each once
};

}  // namespace gla_bench
