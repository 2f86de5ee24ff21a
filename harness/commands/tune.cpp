// gla-bench tune: searches each problem of a config for its fastest candidate, or replays a search
// on records.

#include <iostream>

#include "harness/commands/commands.hpp"
#include "harness/commands/tune_table.hpp"
#include "harness/error.hpp"
#include "harness/record_file.hpp"
#include "harness/tuning/replay.hpp"

namespace gla_bench::commands {
namespace {

struct TuneOptions {
  TuneTableOptions table;
  std::string output;
  std::vector<std::string> replay;
  std::string strategy = "halving";
  double seconds = 0;
  std::size_t candidates = 0;
  int seeds = 20;
  std::uint64_t seed = 1;
};

tuning::Budget budget_of(const TuneOptions& options) {
  tuning::Budget budget;
  if (options.seconds > 0) budget.seconds = options.seconds;
  if (options.candidates > 0) budget.candidates = options.candidates;
  return budget;
}

int replay_files(const TuneOptions& options) {
  std::vector<Results> files;
  for (const std::string& path : options.replay) files.push_back(read_results(path));
  const auto problems = tuning::recorded_problems(files);
  if (problems.empty())
    throw InputError("--replay: no problem there has two candidates that were measured in full");
  std::cout << tuning::replay_table(problems, *tuning::parse_strategy(options.strategy),
                                    budget_of(options), options.seed, options.seeds);
  return done;
}

int execute(const TuneOptions& options) {
  if (options.table.asked()) return tune_table(options.table, options.output);
  if (options.replay.empty())
    throw InputError(
        "tune: nothing to do: expected --replay, --from, --export-header or --evaluate");
  return replay_files(options);
}

}  // namespace

void add_tune(CLI::App& program, Context& context) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = program.add_subcommand(
      "tune",
      "Searches for the fastest candidate of each problem, or replays a search; makes, exports and "
      "evaluates tables of what is best");
  command->add_option("-o,--output", options->output,
                      "with --from: the table, merged with what is there (default: "
                      "results/tuned/<device>.json)");
  options->table.add_to(*command);
  command->add_option("--replay", options->replay,
                      "results files in which every candidate was measured: what the search would "
                      "have found there, and at what cost; needs no GPU");
  command->add_option("--strategy", options->strategy, "how to search: " + tuning::strategy_list())
      ->check([](const std::string& text) {
        return tuning::parse_strategy(text)
                   ? std::string()
                   : "\"" + text + "\", expected one of " + tuning::strategy_list();
      })
      ->capture_default_str();
  command
      ->add_option("--budget-seconds", options->seconds,
                   "of each problem: seconds of search (replayed: of measuring)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--budget-candidates", options->candidates,
                   "of each problem: so many candidates are tried at most")
      ->check(CLI::PositiveNumber);
  command->add_option("--seeds", options->seeds, "--replay: searches of each problem")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the search's draws; the first of --seeds")
      ->capture_default_str();
  command->footer(
      "Examples:\n  gla-bench tune --replay results/h200/gla.json --strategy halving --seeds 20\n"
      "  gla-bench tune --from results/h200/gla.json -o h200.json\n"
      "  gla-bench tune --tuned h200.json --export-header tuned.hpp\n"
      "  gla-bench tune --tuned h200.json --evaluate others.json --most-median 5 --most-worst 20");
  command->callback([options, &context] { context.exit_code = execute(*options); });
}

}  // namespace gla_bench::commands
