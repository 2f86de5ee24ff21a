// gla-bench run and gla-bench verify: the main job.

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/against.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shards/handed_out.hpp"
#include "harness/commands/shards/sharding.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/commands/shared/random_config.hpp"
#include "harness/commands/shared/session.hpp"
#include "harness/commands/shared/workers.hpp"
#include "harness/config/part.hpp"
#include "harness/config/sweep.hpp"
#include "harness/engine/extend.hpp"
#include "harness/engine/run.hpp"
#include "harness/engine/throttled.hpp"
#include "harness/judge/seeds.hpp"
#include "harness/records/environment.hpp"
#include "harness/report/text/report.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/workers/signals.hpp"
#include "harness/workers/step_limit.hpp"

namespace gla_bench::commands {
namespace {

struct RunOptions {
  std::string config, gpus, against, keep_wrong;
  OutputOptions output;
  bool quiet = false, measure = true, until_failure = false;
  int seeds = 1, hand_out = -1, workers = 0;
  double planted = 0, most_seconds = 0;
  BackendOptions backend;
  CandidateOptions candidates;
  AutoOptions choice;
  RandomOptions random;
  ShardOptions shard;
};

/// "quick-20260731-081502.json", or "quick-3-of-8-...": a name that no earlier run has taken.
std::string default_output(const std::string& config, std::optional<Shard> shard = {}) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "-%Y%m%d-%H%M%S.json", &parts);
  const std::string part =
      shard ? "-" + std::to_string(shard->number) + "-of-" + std::to_string(shard->of) : "";
  return std::filesystem::path(config).stem().string() + part + stamp.data();
}

/// Continues a file that was made from an earlier form of the config.
RecordFile extend_output(const RunOptions& options, const Config& config, const Facts& environment,
                         const Asked& asked, const Place& place, Results& results) {
  std::string note;
  RecordFile file =
      extend_run(options.output.path, environment, config, asked, place, results, note);
  if (!note.empty()) std::cerr << note << "\n";
  const auto untimed =
      std::count_if(results.records.begin(), results.records.end(),
                    [](const Record& record) { return record.status == Status::verified; });
  if (options.measure && untimed > 0)
    std::cerr << untimed << " records of those are verified only, and stay so\n";
  return file;
}

/// The file to write to, or none: a verification keeps records only where it is told to do so.
std::optional<RecordFile> open_output(const RunOptions& options, const Config& config,
                                      const Facts& environment, const Place& place,
                                      std::optional<Shard> shard, Results& results) {
  OutputOptions output = options.output;
  if (output.path.empty() && !options.measure) return std::nullopt;
  if (output.path.empty()) output.path = default_output(options.config, shard);
  return open_output(output, config, environment, place, results);
}

/// What ended the run before its end; empty where it came to it.
std::string why_ended(const SupervisedEnd& end) {
  if (end.signal != 0) return signal_text(end.signal);
  if (end.failed) return "--until-failure";
  return end.out_of_time ? "--max-seconds" : end.broken;
}

void print_summary(const SupervisedEnd& end, const std::string& path, std::size_t asked) {
  std::size_t tried = 0;
  std::cout << "records:";
  for (const auto& [status, count] : end.summary.counts) {
    std::cout << " " << count << " " << name(status);
    if (status != Status::rejected) tried += count;
  }
  if (end.summary.counts.empty()) std::cout << " none";
  std::cout << "\n";
  if (!path.empty()) std::cout << "written to " << path << "\n";
  if (const std::string why = why_ended(end); !why.empty())
    print_early_end(why, path,
                    std::to_string(tried) + " of " + std::to_string(asked) + " candidates");
}

/// By what the first of the workers says.
Session open_session(Supervisor& supervisor, const RunOptions& options, const Config& config,
                     const std::string& command_line) {
  Session session = open_session(
      supervisor.hello(), options.measure ? supervisor.first().measure_ceilings() : std::nullopt,
      config, options.backend, command_line, options.measure);
  if (supervisor.size() == 1) return session;
  const bool on_gpus = !options.gpus.empty();
  session.environment[on_gpus ? "gpus" : "workers"] = static_cast<double>(supervisor.size());
  if (!on_gpus) share_memory(session, supervisor.size());
  return session;
}

/// @throws InputError where there is neither a config nor --random
Config config_of(const RunOptions& options, const Catalog& catalog) {
  if (options.random.problems > 0) return random_config(options.random, catalog);
  if (options.config.empty()) throw InputError("verify takes a config, or --random N");
  const RandomOptions& part = options.random;
  return part_of(load_config(options.config, catalog),
                 {part.operators, part.variants, part.dtypes, part.directions});
}

int exit_code(const SupervisedEnd& end) {
  if (end.signal != 0) return signalled + end.signal;
  if (!end.broken.empty()) return infrastructure;
  return end.summary.ok() ? done : check_failed;
}

/// Does all work, and then repeats once what was throttled. `file` may be null.
SupervisedEnd supervise(Supervisor& supervisor, std::span<const Assignment> work,
                        const WorkConditions& conditions,
                        const std::optional<cost_model::Predictor>& predictor, RecordFile* file,
                        std::vector<Record>& records) {
  Progress progress(std::cerr, progress_steps(work, conditions.settings.measure), stderr_style());
  RunHooks hooks;
  hooks.starting = [&](const Candidate& candidate, RunStep step, const std::string& where) {
    if (file != nullptr) file->starting(candidate, name(step), where);
  };
  hooks.record = [&](Record record) {
    note_choice(work, record);
    cost_model::note_prediction(predictor, record);
    if (file != nullptr) file->append(record);
    records.push_back(std::move(record));
  };
  SupervisedEnd end = supervisor.run(work, conditions, hooks, progress);
  progress.finish();
  const auto again = throttled_work(work, records);
  if (end.signal != 0 || end.out_of_time || end.failed || !end.broken.empty() || again.empty())
    return end;
  Progress second(std::cerr, progress_steps(again, conditions.settings.measure), stderr_style());
  second.message("what was throttled is measured again");
  hooks.record = [&](Record record) {
    note_choice(work, record);
    cost_model::note_prediction(predictor, record);
    const Record& merged = replace_throttled(records, record);
    if (file != nullptr) file->append(merged);
  };
  end = supervisor.run(again, conditions, hooks, second);
  second.finish();
  return end;
}

/// The rows of a run that one worker does, in their order.
std::vector<RecordKey> keys_of(std::span<const Assignment> work) {
  std::vector<RecordKey> keys;
  for (const Assignment& point : work) {
    for (const Record& record : point.refused) keys.push_back(key_of(record));
    for (const Candidate& candidate : point.accepted) keys.push_back(key_of(candidate));
  }
  return keys;
}

std::chrono::steady_clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

int execute(RunOptions options, const std::string& command_line) {
  const auto begun = std::chrono::steady_clock::now();
  const auto shard = options.shard.shard();
  options.output.path = shard_output(options.shard, shard, options.output.path);
  if (!options.against.empty() && !is_results_file(options.against))
    return run_against_program(
        {options.config, options.against,
         options.output.path.empty() ? default_output(options.config) : options.output.path,
         options.seeds, options.output.force, options.quiet, options.planted, options.backend,
         options.candidates, options.choice},
        command_line);
  Config config = with_seeds(config_of(options, options.candidates.catalog()), options.seeds);
  const Catalog& catalog = config.catalog;
  if (!options.keep_wrong.empty())
    config.policy.keep_wrong.folder = std::filesystem::absolute(options.keep_wrong).string();
  tolerance_of(config);  // a bad file is reported before any worker starts
  expect_apart(together(together(config_files(config), results_file("--against", options.against)),
                        {{"--tuned", options.choice.tuned}}),
               results_file("--output", options.output.path));
  expect_output(options.output);
  const SignalWatch signals;  // from now on a signal finds something that can be kept, or says so
  Supervisor supervisor;
  const bool may_share = !options.measure && options.gpus.empty();
  start_workers(supervisor, options.backend, config,
                {options.gpus, may_share ? options.workers : 1});
  const Hello& hello = supervisor.hello();
  // A metric that does not exist would leave every row without counts.
  if (options.measure && !config.policy.counters.metrics.empty())
    supervisor.first().plan_counters(config.policy.counters, options.config);
  std::cerr << "running on " << name(hello.backend) << " ("
            << fact_text(hello.environment, "device") << ")";
  if (supervisor.size() > 1) std::cerr << ", " << supervisor.size() << " of them";
  std::cerr << "\n";
  Session session = open_session(supervisor, options, config, command_line);
  const Place& place = session.conditions.place;
  Facts& here = session.environment;
  const auto chooser = open_chooser(config, options.choice, catalog, place, here);
  auto work = assignments(config, catalog, place, pointer_to(chooser));
  const bool handed_out = options.hand_out >= 0;
  if (handed_out) HandedOut::note(shard.value_or(Shard{}), work.size(), here);
  const auto part = cut_to_shard(handed_out ? std::nullopt : shard, config, catalog, place,
                                 options.measure, work, here);
  const std::size_t asked = candidate_count(work);
  if (!handed_out) here[std::string(candidates_asked)] = static_cast<double>(asked);
  Results results;
  results.environment = here;  // replaced by the file's own where a file is continued
  const auto all_asked = [&] {
    Asked all = asked_of(config, catalog, place, pointer_to(chooser), work);
    if (!part) return all;
    for (const Assignment& point : all.roomy) all.elsewhere.insert(point.problem);
    for (const Assignment& point : work) all.elsewhere.erase(point.problem);
    keep_places(all.roomy, part->places);
    return all;
  };
  auto file = options.output.extend
                  ? extend_output(options, config, here, all_asked(), place, results)
                  : open_output(options, config, here, place, shard, results);
  if (file && part) file->ask(asked_points(work, part->places));
  const std::size_t dropped = handed_out ? 0 : drop_recorded(work, results.records);
  if (handed_out && !file) throw InputError("--hand-out: found no --output, expected one");
  if (options.output.resume || options.output.extend)
    std::cerr << dropped << " candidates are recorded already\n";
  WorkConditions conditions = session.conditions;
  if (options.most_seconds > 0) conditions.ends = begun + duration_of(options.most_seconds);
  conditions.until_failure = options.until_failure;
  LimitPolicy& limits = conditions.settings.policy.limits;
  if (options.backend.emulate) limits = for_emulation(limits);
  const auto predictor = predictor_for(options.choice.model, place.backend, here);
  const auto do_all = [&](std::span<const Assignment> share) {
    return supervise(supervisor, share, conditions, predictor, file ? &*file : nullptr,
                     results.records);
  };
  SupervisedEnd end =
      handed_out
          ? HandedOut(options.hand_out)
                .work_through(work, nominal_seconds_of(config, catalog, place, options.measure),
                              config_to_json(config).dump(), *file, results, do_all)
          : do_all(work);
  if (file && supervisor.size() > 1) file->arrange(keys_of(work));
  if (file) finish_output(*file, config, why_ended(end), seconds_since(begun), results);
  end.summary.counts.clear();
  for (const Record& record : results.records) ++end.summary.counts[record.status];
  results.file = file ? file->path() : options.config;
  // A table for each of a thousand drawn problems is of no use.
  if (options.random.problems > 0)
    std::cout << failures(std::span(&results, 1), {});
  else if (!options.quiet)
    std::cout << report(std::span(&results, 1), {});
  if (!options.against.empty()) print_comparison(options.against, results);
  print_summary(end, file ? file->path() : "", asked);
  // A shard may have no problem at all.
  const bool nothing = handed_out ? results.records.empty() : part && asked == 0;
  return nothing && why_ended(end).empty() ? done : exit_code(end);
}

CLI::App* add_command(CLI::App& program, Context& context, const char* name, const char* summary,
                      bool measure) {
  auto options = std::make_shared<RunOptions>();
  options->measure = measure;
  CLI::App* command = program.add_subcommand(name, summary);
  auto* config = command->add_option("config", options->config, "the config");
  if (measure)
    config->required();
  else
    options->random.add_to(*command, *config);
  auto* output = command->add_option(
      "-o,--output", options->output.path,
      measure ? "results file (default: <config>-<date>-<time>.json in this folder)"
              : "results file (default: none is written)");
  auto* resume =
      command
          ->add_flag("--resume", options->output.resume, "go on with the results file given by -o")
          ->needs(output);
  auto* extend =
      command
          ->add_flag("--extend", options->output.extend,
                     "go on with the results file given by -o, which was made from an earlier "
                     "form of the config: only what it lacks is tried")
          ->needs(output)
          ->excludes(resume);
  command->add_flag("--force", options->output.force, "replace the results file where there is one")
      ->excludes(resume)
      ->excludes(extend);
  command->add_flag("-q,--quiet", options->quiet, "no tables, only the counts");
  command
      ->add_option("--seeds", options->seeds,
                   "draw the inputs of each problem so many times, to see the spread of its errors")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--max-seconds", options->most_seconds,
                   "end after so many seconds, with everything kept; --resume goes on later")
      ->check(CLI::PositiveNumber);
  if (!measure)
    command->add_flag("--until-failure", options->until_failure,
                      "end after the first candidate that fails, with everything kept");
  options->backend.add_to(*command);
  if (!measure) options->backend.add_emulation_to(*command);
  options->candidates.add_to(*command);
  options->choice.add_to(*command);
  auto* shard = options->shard.add_to(*command);
  command->add_option("--hand-out", options->hand_out)
      ->needs(shard)
      ->excludes(extend)
      ->group("");  // the descriptor on which gla-bench-mpi hands out problems
  auto* gpus = command
                   ->add_option("--gpus", options->gpus,
                                "a worker on each of these GPUs: numbers as in 0,1,2, or all")
                   ->excludes("--device");
  if (!measure)
    command
        ->add_option("--workers", options->workers,
                     "so many workers on the host, each with a problem of its own; they share its "
                     "memory (0: two where it has several cores)")
        ->check(CLI::Range(0, 256))
        ->capture_default_str()
        ->excludes(gpus);
  if (measure) {
    auto* against = command->add_option(
        "--against", options->against,
        "another gla-bench, to measure both in turns; or a results file, to compare with");
    against->excludes(resume)->excludes(extend)->excludes("--gpus")->excludes(shard);
    command->add_option("--plant-slowdown", options->planted)
        ->check(CLI::Range(0.0, 100.0))
        ->needs(against)
        ->group("");  // for the self-test: lengthens this program's times by so many percent
  }
  command->add_option("--keep-wrong", options->keep_wrong,
                      "folder for inputs, outputs and reference of rows that are wrong (default: "
                      "as the config says)");
  command->callback([options, &context] {
    context.exit_code = or_interrupted([&] { return execute(*options, context.command_line); });
  });
  return command;
}

}  // namespace

void add_run(CLI::App& program, Context& context) {
  add_command(program, context, "run",
              "Verifies and measures every candidate of a config, and records it", true)
      ->footer(
          "Examples:\n  gla-bench run configs/quick.json -o build/quick.json\n"
          "  gla-bench run configs/h200/gla.json -o results/h200/gla.json --resume\n"
          "  gla-bench run configs/h200/gla.json -o results/h200/gla.json --extend\n"
          "  gla-bench run configs/h200/gla.json --shard 3/8 -o part-3.json\n"
          "  gla-bench run configs/quick.json --against ./old-gla-bench -o rounds.json");
}

void add_verify(CLI::App& program, Context& context) {
  add_command(program, context, "verify",
              "Verifies every candidate of a config against float64, without timing it", false)
      ->footer(
          "Examples:\n  gla-bench verify configs/ci.json\n"
          "  gla-bench verify configs/ci.json --backend host -o build/ci.json --force\n"
          "  gla-bench verify configs/ci.json --operators gla --variants decode --until-failure\n"
          "  gla-bench verify --random 1000 --seed 7 --variants chunk_sm90 -o random.json");
}

}  // namespace gla_bench::commands
