#include "harness/commands/against.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json_fwd.hpp>

#include "core/error.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/commands/shared/session.hpp"
#include "harness/commands/shared/workers.hpp"
#include "harness/duel/against.hpp"
#include "harness/judge/comparison_report.hpp"
#include "harness/judge/seeds.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/workers/process.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench::commands {
namespace {

/// The two programs' workers on one device.
struct Contestants {
  std::unique_ptr<WorkerClient> base, fresh;
};

std::unique_ptr<WorkerClient> start_other(const std::string& program, WorkerCommand command) {
  command.program = std::filesystem::absolute(program).string();
  try {
    return std::make_unique<WorkerClient>("the other program's worker", command);
  } catch (const InputError& error) {
    throw InputError("--against " + program + ": " + error.what());
  } catch (const WorkerError& error) {
    throw InputError("--against " + program +
                     ": is no gla-bench that can be run against: " + error.what());
  }
}

void expect_same_place(const std::string& program, const Hello& base, const Hello& fresh) {
  for (const char* key : {"backend", "device", "uuid"})
    if (fact_text(base.environment, key) != fact_text(fresh.environment, key))
      throw InputError("--against " + program + ": its " + key + " is \"" +
                       fact_text(base.environment, key) + "\", this program's is \"" +
                       fact_text(fresh.environment, key) + "\"");
}

Contestants start_contestants(const AgainstOptions& options, const Config& config) {
  Contestants both;
  WorkerCommand own = worker_command(options.backend, config);
  if (options.planted > 0) {
    own.arguments.push_back("--plant-slowdown");
    own.arguments.push_back(std::to_string(options.planted));
  }
  both.fresh = std::make_unique<WorkerClient>("worker", own);
  BackendOptions others = options.backend;
  others.cuda.source_dir.clear();  // a folder of kernels is what this program is to be tried with
  both.base = start_other(options.other, worker_command(others, config));
  expect_same_place(options.other, both.base->hello(), both.fresh->hello());
  return both;
}

/// As for any run, and what is special to the other program.
Session open_session(Contestants& both, const AgainstOptions& options, const Config& config,
                     const std::string& command_line) {
  const Hello& hello = both.fresh->hello();
  Session session = open_session(hello, both.fresh->measure_ceilings(), config, options.backend,
                                 command_line, false);
  session.environment =
      environment_against(std::move(session.environment), both.base->hello(), options.other);
  if (options.planted > 0) session.environment["planted_slowdown_percent"] = options.planted;
  return session;
}

}  // namespace

bool is_results_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  if (!std::filesystem::is_regular_file(path) || !(file >> first))
    throw InputError("--against " + path + ": is no file that can be read");
  if (first == '{') return true;
  if (::access(path.c_str(), X_OK) == 0) return false;
  throw InputError("--against " + path + ": is neither a results file nor a program");
}

int run_against_program(const AgainstOptions& options, const std::string& command_line) {
  const auto begun = std::chrono::steady_clock::now();
  const Config config =
      with_seeds(load_session_config(options.config, options.candidates.catalog()), options.seeds);
  const Catalog& catalog = config.catalog;
  expect_apart(together(config_files(config),
                        {{"--against", options.other}, {"--tuned", options.choice.tuned}}),
               results_file("--output", options.output));
  const SignalWatch signals;
  Contestants both = start_contestants(options, config);
  if (!config.policy.counters.metrics.empty())
    both.fresh->plan_counters(config.policy.counters, options.config);
  expect_device(both.fresh->hello(), "--against");
  Results results;
  const Session session = open_session(both, options, config, command_line);
  results.environment = session.environment;
  both.fresh->configure(session.conditions.settings);
  both.base->configure(session.conditions.settings);
  const Place& place = session.conditions.place;
  const auto chooser = open_chooser(config, options.choice, catalog, place, results.environment);
  const auto work = assignments(config, catalog, place, pointer_to(chooser));
  const std::size_t asked = candidate_count(work);
  results.environment[std::string(candidates_asked)] = static_cast<double>(asked);
  RecordFile file = open_output({options.output, false, false, options.force}, config,
                                results.environment, place, results);
  RoundPolicy rounds;
  rounds.max_seconds = config.policy.timing.max_seconds;
  Progress progress(std::cerr, progress_steps(work, true), stderr_style());
  const auto end_by_signal = [](WorkerProcess&) -> std::string {
    if (const auto signal = pending_signal()) end_by(*signal);
    return "";
  };
  both.base->while_waiting(end_by_signal);
  both.fresh->while_waiting(end_by_signal);
  RunSummary summary;
  std::size_t tried = 0;
  int signal = 0;
  try {
    summary = run_against(
        *both.base, *both.fresh, work, session.conditions, rounds,
        [&](Record record) {
          note_choice(work, record);
          file.append(record);
          tried += was_tried(record) ? 1 : 0;
          results.records.push_back(std::move(record));
        },
        progress);
  } catch (const Interrupted& end) {
    signal = end.signal;
  }
  progress.finish();
  finish_output(file, config, signal == 0 ? "" : signal_text(signal), seconds_since(begun),
                results);
  results.file = file.path();
  if (!options.quiet && has_rounds(results))
    std::cout << comparison_text(compare_rounds(results, {}), {});
  std::cout << "written to " << file.path() << "; compare " << file.path() << " --gate judges it\n";
  if (signal != 0) {
    print_early_end(signal_text(signal), file.path(),
                    std::to_string(tried) + " of " + std::to_string(asked) + " candidates");
    return signalled + signal;
  }
  return summary.ok() ? done : check_failed;
}

void print_comparison(const std::string& base, const Results& fresh) {
  std::cout << comparison_text(compare_files(read_results(base), fresh, {}), {});
}

}  // namespace gla_bench::commands
