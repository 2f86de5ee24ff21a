// gla-bench tune: searches each problem of a config for its fastest candidate, or replays a search
// on records.

#include <iostream>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/session.hpp"
#include "harness/commands/tuning/tune_fit.hpp"
#include "harness/commands/tuning/tune_live.hpp"
#include "harness/commands/tuning/tune_table.hpp"
#include "harness/records/record_file.hpp"
#include "harness/search/replay.hpp"

namespace gla_bench::commands {
namespace {

struct TuneOptions {
  TuneTableOptions table;
  LiveTuneOptions live;
  std::vector<std::string> replay, learn_from, fit, judge;
  std::string strategy = "guided";
  std::optional<double> seconds;
  std::size_t candidates = 0;
  int seeds = 20;
  bool no_table = false;
};

search::Budget budget_of(const TuneOptions& options) {
  search::Budget asked;
  asked.seconds = options.seconds;
  if (options.candidates > 0) asked.candidates = options.candidates;
  const bool guided = *search::parse_strategy(options.strategy) == search::Strategy::guided;
  return guided ? search::guided_budget(asked, !options.replay.empty()) : asked;
}

int replay_files(const TuneOptions& options) {
  const std::vector<Results> files = read_results(options.replay);
  auto problems = search::recorded_problems(files);
  if (problems.empty())
    throw InputError("--replay: no problem there has two candidates that were measured in full");
  if (*search::parse_strategy(options.strategy) == search::Strategy::guided) {
    const std::vector<Results> others = read_results(options.learn_from);
    search::predict_without_own_shape(problems, files, others);
  }
  std::cout << search::replay_table(problems, *search::parse_strategy(options.strategy),
                                    budget_of(options), options.live.seed, options.seeds);
  return done;
}

int execute(const TuneOptions& options, const std::string& command_line) {
  const bool searches = !options.live.config.empty(), replays = !options.replay.empty();
  const bool fits = !options.fit.empty();
  if (static_cast<int>(searches) + static_cast<int>(replays) + static_cast<int>(fits) +
          static_cast<int>(options.table.asked()) !=
      1)
    throw InputError(
        "tune: takes one of a config, --replay, --fit, or --from, --export-header and --evaluate");
  if (fits)
    return tune_fit(options.fit, options.judge, options.live.output.path, options.table.markdown,
                    options.table.limits);
  if (options.table.asked())
    return tune_table(options.table, options.live.output.path, options.live.candidates.catalog());
  if (replays) return replay_files(options);
  LiveTuneOptions live = options.live;
  live.strategy = *search::parse_strategy(options.strategy);
  live.budget = budget_of(options);
  live.allowed = options.table.allowed;
  live.model = options.table.model;
  live.markdown = options.table.markdown;
  live.limits = options.table.limits;
  if (!options.no_table) live.table = options.table.tuned;
  return tune_live(std::move(live), command_line);
}

void add_live_options(CLI::App& command, LiveTuneOptions& live) {
  command.add_option("config", live.config, "the config whose problems are searched");
  auto* output = command.add_option(
      "-o,--output", live.output.path,
      "results file of the search (default: <config>-tuned.json in "
      "this folder); with --from: the table, merged with what is "
      "there (default: gla-bench/tuned/<device>.json in the user's data folder)");
  auto* resume = command
                     .add_flag("--resume", live.output.resume,
                               "go on with the results file given by -o: problems whose search "
                               "was cut short are searched again")
                     ->needs(output);
  command.add_flag("--force", live.output.force, "replace the results file where there is one")
      ->excludes(resume);
  command.add_flag("-q,--quiet", live.quiet, "no table of the problems");
  auto* shard = live.shard.add_to(command);
  command
      .add_option("--exhaustive-of", live.exhaustive_of,
                  "draw so many of the config's problems (--seed), search them, then measure every "
                  "candidate of each: what auto and the search cost over the best of all. Makes no "
                  "table")
      ->check(CLI::PositiveNumber)
      ->excludes(resume)
      ->excludes(shard);
  command.add_flag("--all", live.all_tiles,
                   "tries also the values of tile axes that were nowhere ahead in records");
  live.backend.add_to(command);
  live.candidates.add_to(command);
  command
      .add_option("--gpus", live.gpus,
                  "a worker on each of these GPUs, which take problem by problem: numbers as in "
                  "0,1,2, or all")
      ->excludes("--device");
}

}  // namespace

void add_tune(CLI::App& program, Context& context) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = program.add_subcommand(
      "tune",
      "Searches for the fastest candidate of each problem, or replays a search; makes, exports and "
      "evaluates tables of what is best");
  add_live_options(*command, options->live);
  command->add_flag("--no-table", options->no_table,
                    "a search makes no table (default: that of --tuned, or "
                    "the device's in the user's data folder, merged with what is there)");
  options->table.add_to(*command);
  command->add_option("--replay", options->replay,
                      "results files in which every candidate was measured: what the search would "
                      "have found there, and at what cost; needs no GPU");
  command->add_option("--learn-from", options->learn_from,
                      "--replay --strategy guided: results files that predictions are learnt from, "
                      "besides those replayed; always without the replayed problem's own shape");
  auto* fit = command->add_option("--fit", options->fit,
                                  "results files: learn from their times to predict others, and "
                                  "write the cost model (-o), without a GPU");
  command
      ->add_option("--judge", options->judge,
                   "results files: what the fitted model chooses among their candidates, of "
                   "problems of whose shape it was taught nothing; --most-median and --most-worst "
                   "then hold for these")
      ->needs(fit);
  command->add_option("--strategy", options->strategy, "how to search: " + search::strategy_list())
      ->check([](const std::string& text) {
        return search::parse_strategy(text)
                   ? std::string()
                   : "\"" + text + "\", expected one of " + search::strategy_list();
      })
      ->capture_default_str();
  command
      ->add_option("--budget-seconds", options->seconds,
                   "of each problem: seconds of search from the first verified candidate on "
                   "(default: 20 where it is guided, else no limit; replayed: of measuring)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--budget-candidates", options->candidates,
                   "of each problem: so many candidates are tried at most (default: 40 where it "
                   "is guided and no seconds are given, else no limit)")
      ->check(CLI::PositiveNumber);
  command->add_option("--seeds", options->seeds, "--replay: searches of each problem")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seed", options->live.seed, "of the search's draws; the first of --seeds")
      ->capture_default_str();
  command->footer(
      "Examples:\n  gla-bench tune configs/quick.json -o build/tuned.json --budget-seconds 60\n"
      "  gla-bench tune --replay results/h200/search/exhaustive_gla.json --seeds 20\n"
      "  gla-bench tune --from results/h200/gla.json -o h200.json\n"
      "  gla-bench tune --fit results/h200/gla.json results/h200/search/tuning.json -o "
      "h200.model.json\n"
      "  gla-bench tune --tuned h200.json --export-header tuned.hpp\n"
      "  gla-bench tune --tuned h200.json --evaluate others.json --most-median 5 --most-worst 20\n"
      "  gla-bench tune configs/tuning/judge.json --exhaustive-of 12 --seed 4711 -o judged.json");
  command->callback([options, &context] {
    context.exit_code = or_interrupted([&] { return execute(*options, context.command_line); });
  });
}

}  // namespace gla_bench::commands
