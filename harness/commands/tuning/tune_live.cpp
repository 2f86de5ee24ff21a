// The searches of `tune CONFIG`.

#include "harness/commands/tuning/tune_live.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/commands/shared/output_width.hpp"
#include "harness/commands/shared/workers.hpp"
#include "harness/commands/tuning/tune_table.hpp"
#include "harness/records/environment.hpp"
#include "harness/search/regret.hpp"
#include "harness/search/tune_on_all.hpp"
#include "harness/tuned_table/choose.hpp"
#include "harness/tuned_table/table_file.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench::commands {
namespace {

/// In a judgement, a candidate that a few samples show to be slower than the best by more than this
/// share is not sampled further: neighbours of the best, and what people choose, are far closer.
constexpr double clearly_slower = 0.5;

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

std::size_t candidates_of(std::span<const Assignment> work) {
  std::size_t count = 0;
  for (const Assignment& point : work) count += point.accepted.size();
  return count;
}

/// Keeps those of the problems that the seed draws, of all that have a candidate.
void draw_problems(std::vector<Assignment>& work, std::size_t count, std::uint64_t seed) {
  std::erase_if(work, [](const Assignment& point) { return point.accepted.empty(); });
  std::vector<Assignment> drawn;
  for (const std::size_t place : search::drawn_places(work.size(), count, seed))
    drawn.push_back(std::move(work[place]));
  work = std::move(drawn);
}

struct Judgement {
  search::TuneEnd end;  ///< of measuring all
  std::vector<search::JudgedProblem> problems;
};

/// Measures every candidate of the problems that were searched by `request`, in a few samples where
/// these show that it cannot be the best, and holds against the best of them what `auto` takes and
/// what the search found.
Judgement judge(const search::WorkerClients& clients, std::span<const Assignment> work,
                search::TuneRequest request, std::span<const search::SearchedProblem> searched,
                search::LiveHooks journal) {
  std::vector<std::optional<Candidate>> choices;
  for (const Assignment& point : work) choices.push_back(request.start(point));
  request.strategy = search::Strategy::exhaustive;
  request.search.clearly_slower = clearly_slower;
  request.budget = {};
  request.start = nullptr;
  search::MeasuredAll all;
  const auto write = journal.record;
  journal.record = [&](const Record& record) {
    all[key_of(record)] = record;
    write(record);
  };
  Progress progress(std::cerr, candidates_of(work), stderr_style());
  Judgement judgement{search::tune_on_all(clients, work, request, journal, progress), {}};
  progress.finish();
  const search::TuneEnd& end = judgement.end;
  // A problem that a signal cut short was not measured whole.
  const std::size_t whole = end.problems.size() - (end.signal != 0 ? 1 : 0);
  judgement.problems = search::judge_searches(searched, choices, whole, all);
  return judgement;
}

}  // namespace

int tune_live(LiveTuneOptions options, const std::string& command_line) {
  Config config = load_session_config(options.config, options.candidates.catalog());
  const Catalog& catalog = config.catalog;
  if (options.all_tiles)
    for (Sweep& sweep : config.sweeps) sweep.rare_tiles = true;
  refuse_auto(options.config);
  const auto shard = options.shard.shard();
  options.output.path = shard_output(options.shard, shard, options.output.path);
  if (options.output.path.empty())
    options.output.path = std::filesystem::path(options.config).stem().string() + "-tuned" +
                          (shard ? "-" + std::to_string(shard->number) : "") + ".json";
  expect_apart(config_files(config), together(results_file("--output", options.output.path),
                                              {{"--tuned", options.table.value_or("")}}));
  expect_output(options.output);
  SignalWatch signals;
  search::WorkerClients clients;
  const AddWorker add = [&](const std::string& label, const WorkerCommand& command) {
    clients.push_back(std::make_unique<WorkerClient>(label, command));
    return clients.back()->hello();
  };
  add_workers(add, options.backend, config, options.gpus);
  WorkerClient& first = *clients.front();
  expect_device(first.hello(), "tune");
  Session session = open_session(first.hello(), first.measure_ceilings(), config, options.backend,
                                 command_line, true);
  if (clients.size() > 1) session.environment["gpus"] = static_cast<double>(clients.size());
  for (const auto& client : clients) client->configure(session.conditions.settings);
  search::TuneRequest request;
  request.conditions = session.conditions;
  request.strategy = options.strategy;
  request.budget = options.budget;
  request.predictor =
      predictor_for(options.model, session.conditions.place.backend, session.environment);
  if (request.predictor)
    std::cerr << "times are predicted by " << request.predictor->source() << "\n";
  const Chooser chooser = start_chooser(options, catalog, session, request.predictor);
  request.start = [&](const Assignment& point) { return start_of(chooser, point); };
  request.seed = options.seed;
  request.search.compiled_ahead =
      search::compiled_ahead(compile_threads(options.backend), clients.size());
  Results results;
  results.environment = session.environment;
  auto work = assignments(config, catalog, session.conditions.place);
  if (options.exhaustive_of > 0) {
    draw_problems(work, options.exhaustive_of, options.seed);
    results.environment["judged_seed"] = static_cast<double>(options.seed);
  }
  const auto part = cut_to_shard(shard, config, catalog, session.conditions.place, true, work,
                                 results.environment);
  const Facts here = results.environment;
  RecordFile file = open_output(options.output, config, here, session.conditions.place, results);
  if (part) file.ask(asked_points(work, part->places));
  const std::size_t problems = work.size();
  const std::size_t searched = search::drop_searched(work, results.records);
  if (options.output.resume) std::cerr << searched << " problems are searched already\n";
  Progress progress(std::cerr, candidates_of(work), stderr_style());
  request.signal = [&] { return signals.take(); };
  search::LiveHooks journal;
  journal.starting = [&](const Candidate& candidate, RunStep step) {
    file.starting(candidate, name(step));
  };
  journal.record = [&](Record record) {
    cost_model::note_prediction(request.predictor, record);
    file.append(record);
  };
  search::TuneEnd end = search::tune_on_all(clients, work, request, journal, progress);
  progress.finish();
  bool good = true;
  if (options.exhaustive_of > 0 && end.signal == 0) {
    if (!options.quiet) std::cout << search::tune_report(end);
    Judgement judgement = judge(clients, work, request, end.problems, journal);
    end = std::move(judgement.end);
    std::cout << search::judgement_report(judgement.problems, options.markdown, output_width());
    const auto by_auto = search::regrets_of(judgement.problems, &search::JudgedProblem::by_auto);
    good = options.limits.hold(by_auto.problems, by_auto.unknown, by_auto.median, by_auto.worst);
  }
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
  // What is judged does not learn from what judges it.
  if (options.table && !part && options.exhaustive_of == 0 && end.signal == 0 && has_winner(end)) {
    const Results written = read_results(file.path());
    update_table(std::span(&written, 1), *options.table, options.allowed, false, catalog);
  }
  if (part && end.signal == 0)
    std::cout << "a shard makes no tuned table: merge the shards, then tune --from\n";
  const int code = exit_code(end);
  return code == done && !good ? check_failed : code;
}

}  // namespace gla_bench::commands
