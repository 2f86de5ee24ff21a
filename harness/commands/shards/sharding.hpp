#pragma once
// The option --shard of the commands that go over a config's problems.

#include <optional>
#include <string>
#include <vector>

#include "harness/commands/commands.hpp"
#include "harness/engine/sharding.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench::commands {

struct ShardOptions {
  std::string text;  ///< "3/8", "auto" or empty

  CLI::Option* add_to(CLI::App& command);
  /// Nothing where all problems are asked for. @throws InputError where auto finds no task
  std::optional<Shard> shard() const;
};

/// The output's path with the shard's number for {shard}. @throws InputError where the tasks of
/// --shard auto would write to one file
std::string shard_output(const ShardOptions& options, std::optional<Shard> shard,
                         const std::string& path);

/// The problems of a shard.
struct ShardWork {
  Shard shard;
  std::vector<std::size_t> places;  ///< in the config
};

/// Cuts the work to the shard and notes it in the environment. Says on standard error what is left.
/// Without a shard nothing happens.
std::optional<ShardWork> cut_to_shard(std::optional<Shard> shard, const Config& config,
                                      const Catalog& catalog, const Place& place, bool measure,
                                      std::vector<Assignment>& work, Facts& environment);

}  // namespace gla_bench::commands
