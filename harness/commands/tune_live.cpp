// The searches of `tune CONFIG`.

#include "harness/commands/tune_live.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/shared/workers.hpp"
#include "harness/commands/tune_table.hpp"
#include "harness/engine/resume.hpp"
#include "harness/records/environment.hpp"
#include "harness/search/tune.hpp"
#include "harness/tuned_table/choose.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench::commands {
namespace {

/// What a table says can not be searched for: a search is what tables are made from.
void refuse_auto(const std::string& path) {
  const Json document = read_json_file(path);
  for (const JsonNode& sweep : JsonNode(document, path).at("sweeps").items()) {
    const JsonNode variants = sweep.at("variants");
    if (!variants.is_array()) continue;
    for (const JsonNode& variant : variants.items())
      if (variant.text() == auto_variant)
        variant.fail(
            "variants to be searched; auto is what a tuned table says, for run and verify");
  }
}

tuning::LivePlan live_plan(const Config& config, const Place& place, const Facts& environment) {
  tuning::LivePlan plan;
  plan.place = place;
  plan.policy = config.policy;
  plan.copy_gb_per_s = fact_number(environment, "copy_gb_per_s");
  plan.last_level_cache = last_level_cache(environment);
  plan.rates = rates_of(environment, place.backend);
  plan.memory = worker_share_of_memory * place.host_memory;
  return plan;
}

RecordFile open_output(const LiveTuneOptions& options, const Config& config,
                       const Facts& environment, Results& results) {
  using Existing = RecordFile::Existing;
  if (!options.resume)
    return create_run(options.output, environment, config,
                      options.force ? Existing::replace : Existing::refuse);
  std::string note;
  RecordFile file = resume_run(options.output, environment, config, results, note);
  if (!note.empty()) std::cerr << "warning: " << note << "\n";
  return file;
}

bool has_winner(const tuning::TuneEnd& end) {
  return std::any_of(end.problems.begin(), end.problems.end(),
                     [](const tuning::TunedProblem& tuned) { return tuned.best.has_value(); });
}

int exit_code(const tuning::TuneEnd& end) {
  if (end.signal != 0) return signalled + end.signal;
  for (const tuning::TunedProblem& tuned : end.problems)
    if (!tuned.best) return check_failed;
  return done;
}

}  // namespace

int tune_live(LiveTuneOptions options, const std::string& command_line) {
  const Catalog catalog = program_catalog();
  const Config config = load_config(options.config, catalog);
  refuse_auto(options.config);
  if (!config.policy.tolerance.empty()) load_tolerance(config.policy.tolerance);
  if (options.output.empty())
    options.output = std::filesystem::path(options.config).stem().string() + "-tuned.json";
  RecordFile::expect_writable(options.output, options.resume || options.force
                                                  ? RecordFile::Existing::replace
                                                  : RecordFile::Existing::refuse);
  WorkerClient client("worker", worker_command(options.backend, config.backend));
  const Hello& hello = client.hello();
  if (!hello.can_run)
    throw InputError("tune: nothing can run here: " + fact_text(hello.environment, "device"));
  const Place place =
      place_of(hello.backend, hello.limits, fact_text(hello.environment, "uuid"), options.backend);
  Results results;
  results.environment = hello.environment;
  results.environment["command_line"] = command_line;
  if (const auto ceilings = client.measure_ceilings()) add_ceilings(results.environment, *ceilings);
  tuning::TunePlan plan;
  plan.live = live_plan(config, place, results.environment);
  plan.strategy = options.strategy;
  plan.budget = options.budget;
  plan.seed = options.seed;
  client.configure({true, config.policy, plan.live.copy_gb_per_s, plan.live.last_level_cache});
  auto work = assignments(config, catalog, place);
  RecordFile file = open_output(options, config, results.environment, results);
  const std::size_t searched = tuning::drop_searched(work, results.records);
  if (options.resume) std::cerr << searched << " problems are searched already\n";
  std::size_t candidates = 0;
  for (const Assignment& point : work) candidates += point.accepted.size();
  Progress progress(std::cerr, candidates, stderr_style());
  SignalWatch signals;
  plan.signal = [&] { return signals.take(); };
  tuning::LiveHooks journal;
  journal.starting = [&](const Candidate& candidate, RunStep step) {
    file.starting(candidate, name(step));
  };
  journal.record = [&](const Record& record) { file.append(record); };
  const tuning::TuneEnd end = tuning::tune(client, work, plan, journal, progress);
  progress.finish();
  if (end.problems.empty()) {  // all were searched before: what it took stays in the file
    file.finish();
  } else {
    for (const auto& [key, fact] : tuning::facts_of(end.breakdown)) results.environment[key] = fact;
    file.finish(results.environment, config_to_json(config));
    if (!options.quiet) std::cout << tuning::tune_report(end);
  }
  std::cout << "written to " << file.path() << "\n";
  if (end.signal != 0)
    std::cerr << "ended by " << signal_text(end.signal)
              << "; what is recorded is kept, --resume goes on with the problems that are left\n";
  if (options.table && end.signal == 0 && has_winner(end)) {
    const Results written = read_results(file.path());
    update_table(std::span(&written, 1), *options.table, options.allowed, false);
  }
  return exit_code(end);
}

}  // namespace gla_bench::commands
