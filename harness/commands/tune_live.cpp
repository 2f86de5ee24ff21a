// The searches of `tune CONFIG`.

#include "harness/commands/tune_live.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/commands/shared/workers.hpp"
#include "harness/commands/tune_table.hpp"
#include "harness/records/environment.hpp"
#include "harness/search/tune.hpp"
#include "harness/tuned_table/choose.hpp"
#include "harness/tuned_table/table_file.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench::commands {
namespace {

/// A config that takes its candidates from a table cannot be searched: tables are made from
/// searches.
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

/// Chooses as `auto` does: by the table that the search is to better, where there is one for here.
Chooser start_chooser(const LiveTuneOptions& options, const Catalog& catalog,
                      const Session& session,
                      const std::optional<cost_model::Predictor>& predictor) {
  const Place& place = session.conditions.place;
  Chooser chooser(catalog, place.backend, "there is no table");
  const std::string named = options.table.value_or("");
  const auto path =
      named.empty() ? find_table(fact_text(session.environment, "device")) : std::optional(named);
  if (path && std::filesystem::exists(*path))
    chooser = Chooser(catalog, place.backend, load_table(*path), session.environment,
                      {options.allowed.begin(), options.allowed.end()}, place.source_hash);
  if (predictor) chooser.predict_by(*predictor);
  return chooser;
}

/// What `auto` would take of the candidates.
std::optional<Candidate> start_of(const Chooser& chooser, const Assignment& point) {
  const auto is_there = [&](const Candidate& candidate) {
    return std::any_of(point.accepted.begin(), point.accepted.end(), [&](const Candidate& one) {
      return one.variant == candidate.variant && one.tile == candidate.tile;
    });
  };
  return chooser
      .choose(point.problem,
              [&](const Candidate& candidate) -> std::optional<std::string> {
                if (is_there(candidate)) return std::nullopt;
                return "the config leaves it out";
              })
      .candidate;
}

bool has_winner(const search::TuneEnd& end) {
  return std::any_of(end.problems.begin(), end.problems.end(),
                     [](const search::SearchedProblem& tuned) { return tuned.best.has_value(); });
}

int exit_code(const search::TuneEnd& end) {
  if (end.signal != 0) return signalled + end.signal;
  for (const search::SearchedProblem& tuned : end.problems)
    if (!tuned.best) return check_failed;
  return done;
}

}  // namespace

int tune_live(LiveTuneOptions options, const std::string& command_line) {
  const Catalog catalog = program_catalog();
  const Config config = load_session_config(options.config, catalog);
  refuse_auto(options.config);
  if (options.output.path.empty())
    options.output.path = std::filesystem::path(options.config).stem().string() + "-tuned.json";
  expect_apart(config_files(config), together(results_file("--output", options.output.path),
                                              {{"--tuned", options.table.value_or("")}}));
  expect_output(options.output);
  SignalWatch signals;
  WorkerClient client("worker", worker_command(options.backend, config.backend));
  expect_device(client.hello(), "tune");
  const Session session = open_session(client.hello(), client.measure_ceilings(), config,
                                       options.backend, command_line, true);
  client.configure(session.conditions.settings);
  search::TuneRequest request;
  request.conditions = session.conditions;
  request.strategy = options.strategy;
  request.budget = options.budget;
  request.predictor = predictor_for(options.model, session.conditions.place.backend,
                                    session.environment);
  if (request.predictor)
    std::cerr << "times are predicted by " << request.predictor->source() << "\n";
  const Chooser chooser = start_chooser(options, catalog, session, request.predictor);
  request.start = [&](const Assignment& point) { return start_of(chooser, point); };
  request.seed = options.seed;
  Results results;
  results.environment = session.environment;
  auto work = assignments(config, catalog, session.conditions.place);
  RecordFile file =
      open_output(options.output, config, session.environment, session.conditions.place, results);
  const std::size_t problems = work.size();
  const std::size_t searched = search::drop_searched(work, results.records);
  if (options.output.resume) std::cerr << searched << " problems are searched already\n";
  std::size_t candidates = 0;
  for (const Assignment& point : work) candidates += point.accepted.size();
  Progress progress(std::cerr, candidates, stderr_style());
  request.signal = [&] { return signals.take(); };
  search::LiveHooks journal;
  journal.starting = [&](const Candidate& candidate, RunStep step) {
    file.starting(candidate, name(step));
  };
  journal.record = [&](Record record) {
    cost_model::note_prediction(request.predictor, record);
    file.append(record);
  };
  const search::TuneEnd end = search::tune(client, work, request, journal, progress);
  progress.finish();
  const std::string why = end.signal == 0 ? "" : signal_text(end.signal);
  if (end.problems.empty() && why.empty()) {  // all were searched before: it keeps what that took
    file.finish();
  } else {
    for (const auto& [key, fact] : search::facts_of(end.breakdown)) results.environment[key] = fact;
    results.environment.erase(std::string(ended_by));
    if (!why.empty()) results.environment[std::string(ended_by)] = why;
    file.finish(results.environment, config_to_json(config));
    if (!options.quiet) std::cout << search::tune_report(end);
  }
  std::cout << "written to " << file.path() << "\n";
  if (!why.empty())
    print_early_end(why, file.path(),
                    std::to_string(searched + end.problems.size()) + " of " +
                        std::to_string(problems) + " problems");
  if (options.table && end.signal == 0 && has_winner(end)) {
    const Results written = read_results(file.path());
    update_table(std::span(&written, 1), *options.table, options.allowed, false);
  }
  return exit_code(end);
}

}  // namespace gla_bench::commands
