#pragma once
// The searches of `tune CONFIG`: a worker, a results file, and the table made of it.

#include <optional>
#include <string>
#include <vector>

#include "harness/commands/shards/sharding.hpp"
#include "harness/commands/shared/regret_limits.hpp"
#include "harness/commands/shared/session.hpp"
#include "harness/search/searcher.hpp"
#include "harness/search/stop_condition.hpp"

namespace gla_bench::commands {

struct LiveTuneOptions {
  std::string config;
  OutputOptions output;
  search::Strategy strategy = search::Strategy::guided;
  search::Budget budget;
  std::uint64_t seed = 1;
  bool quiet = false;
  BackendOptions backend;
  std::string gpus;  ///< as of `run --gpus`
  CandidateOptions candidates;
  ShardOptions shard;  ///< a shard makes no table: `tune --from` makes it of the merged file
  /// The table that is made of the results. An empty path means the device's own; without a value
  /// no table is made.
  std::optional<std::string> table;
  bool all_tiles = false;  ///< tries values of tiles that were nowhere ahead in records too
  std::string model;       ///< path of a cost model; empty: the device's own
  /// Problems that are drawn from the config, searched, and then measured whole to judge `auto` and
  /// the search; 0: all problems are searched, and nothing is judged.
  std::size_t exhaustive_of = 0;
  bool markdown = false;             ///< of the judgement
  RegretLimits limits;               ///< of `auto`, where it is judged
  std::vector<std::string> allowed;  ///< facts that may differ from the table's
};

/// The exit code. @throws InputError, OutputError, WorkerError
int tune_live(LiveTuneOptions options, const std::string& command_line);

}  // namespace gla_bench::commands
