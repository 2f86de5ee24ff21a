#include "harness/commands/shards/sharding.hpp"

#include <iostream>

#include "core/error.hpp"
#include "harness/engine/run.hpp"
#include "harness/support/system/task_place.hpp"

namespace gla_bench::commands {
namespace {

constexpr const char* automatic = "auto";
constexpr const char* placeholder = "{shard}";

}  // namespace

CLI::Option* ShardOptions::add_to(CLI::App& command) {
  return command
      .add_option(
          "--shard", text,
          "I/N: only the problems of this shard, counted from 1, of N that take about the "
          "same time; auto: as Slurm or MPI numbers this task. `merge` makes one file of all")
      ->check([](const std::string& given) {
        return given == automatic || parse_shard(given)
                   ? std::string()
                   : "\"" + given + "\", expected I/N with 1 <= I <= N, or auto";
      });
}

std::optional<Shard> ShardOptions::shard() const {
  if (text != automatic) return parse_shard(text);
  const auto task = own_task_place();
  if (!task)
    throw InputError(
        "--shard auto: found no task, expected SLURM_ARRAY_TASK_ID, SLURM_PROCID, "
        "OMPI_COMM_WORLD_RANK or PMI_RANK in the environment, as srun, sbatch --array and mpirun "
        "set them");
  if (task->count > most_shards)
    throw InputError("--shard auto: found " + std::to_string(task->count) +
                     " tasks, expected at most " + std::to_string(most_shards));
  std::cerr << "shard " << task->index + 1 << "/" << task->count << " by " << task->said_by << "\n";
  return Shard{task->index + 1, task->count};
}

std::string shard_output(const ShardOptions& options, std::optional<Shard> shard,
                         const std::string& path) {
  std::string result = path;
  const std::size_t at = result.find(placeholder);
  if (shard && at != std::string::npos)
    result.replace(at, std::string(placeholder).size(), std::to_string(shard->number));
  else if (shard && shard->of > 1 && options.text == automatic && !path.empty())
    throw InputError("--output: found \"" + path + "\", expected " + placeholder +
                     " in it with --shard auto: each task writes a file of its own");
  return result;
}

std::optional<ShardWork> cut_to_shard(std::optional<Shard> shard, const Config& config,
                                      const Catalog& catalog, const Place& place, bool measure,
                                      std::vector<Assignment>& work, Facts& environment) {
  if (!shard) return std::nullopt;
  const std::size_t problems = work.size();
  const std::vector<int> cut = shards_of(config, catalog, place, measure, shard->of);
  ShardWork part{*shard, places_of(cut, shard->number)};
  keep_places(work, part.places);
  environment[std::string(shard_fact)] = name(*shard);
  environment[std::string(shard_problems)] = static_cast<double>(problems);
  std::cerr << "shard " << name(*shard) << " on " << fact_text(environment, "host") << ": "
            << work.size() << " of " << problems << " problems, " << candidate_count(work)
            << " candidates\n";
  return part;
}

}  // namespace gla_bench::commands
