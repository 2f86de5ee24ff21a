// gla-bench run and gla-bench verify: the main job.

#include <array>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <nlohmann/json_fwd.hpp>

#include "harness/commands/commands.hpp"
#include "harness/comparison/seeds.hpp"
#include "harness/environment.hpp"
#include "harness/record_file.hpp"
#include "harness/report.hpp"
#include "harness/resume.hpp"
#include "harness/run.hpp"

namespace gla_bench::commands {
namespace {

struct RunOptions {
  std::string config, output;
  bool resume = false, force = false, quiet = false, measure = true;
  int seeds = 1;
  BackendOptions backend;
};

/// "quick-20260731-081502.json": a name that no earlier run has taken.
std::string default_output(const std::string& config) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "-%Y%m%d-%H%M%S.json", &parts);
  return std::filesystem::path(config).stem().string() + stamp.data();
}

RunPlan plan_of(const Config& config, const Place& place, const Facts& environment, bool measure) {
  RunPlan plan;
  plan.place = place;
  plan.measure = measure;
  plan.timing = config.policy.timing;
  plan.reference = config.policy.verification.reference;
  plan.tolerance = config.policy.tolerance.empty() ? default_tolerance()
                                                   : load_tolerance(config.policy.tolerance);
  plan.copy_gb_per_s = fact_number(environment, "copy_gb_per_s");
  plan.last_level_cache = last_level_cache(environment);
  return plan;
}

/// The file to write to, or none: a verification keeps records only where it is told to.
std::optional<RecordFile> open_output(const RunOptions& options, const Config& config,
                                      const Facts& environment, Results& results) {
  std::string path = options.output;
  if (options.resume) {
    std::string note;
    auto file = resume_run(path, environment, config, results, note);
    if (!note.empty()) std::cerr << "warning: " << note << "\n";
    return file;
  }
  if (path.empty() && !options.measure) return std::nullopt;
  if (path.empty()) path = default_output(options.config);
  return create_run(path, environment, config,
                    options.force ? RecordFile::Existing::replace : RecordFile::Existing::refuse);
}

void print_summary(const RunSummary& summary, const std::string& path) {
  std::cout << "records:";
  for (const auto& [status, count] : summary.counts)
    std::cout << " " << count << " " << name(status);
  if (summary.counts.empty()) std::cout << " none";
  std::cout << "\n";
  if (summary.device_lost)
    std::cout << "the device was lost: run again with --resume to go on behind the candidate that "
                 "broke it\n";
  if (!path.empty()) std::cout << "written to " << path << "\n";
}

int execute(const RunOptions& options, const std::string& command_line) {
  const Catalog catalog = program_catalog();
  const Config config = with_seeds(load_config(options.config, catalog), options.seeds);
  const auto backend = open_backend(options.backend, config.backend);
  std::cerr << "running on " << where(*backend) << "\n";
  const Place place = place_of(*backend, options.backend);
  const auto ceilings = options.measure && backend->can_run() ? backend->measure_ceilings()
                                                              : std::optional<Ceilings>{};
  Results results;
  results.environment = make_environment(*backend, command_line, ceilings);
  auto work = assignments(config, catalog, place);
  auto file = open_output(options, config, results.environment, results);
  const std::size_t dropped = drop_recorded(work, results.records);
  if (options.resume) std::cerr << dropped << " candidates are recorded already\n";
  Progress progress(std::cerr, progress_steps(work, options.measure), stderr_style());
  RunSummary summary = run(
      *backend, work, plan_of(config, place, results.environment, options.measure),
      [&](const Record& record) {
        if (file) file->append(record);
        results.records.push_back(record);
      },
      progress);
  progress.finish();
  if (file && !summary.device_lost) file->finish();
  summary.counts.clear();
  for (const Record& record : results.records) ++summary.counts[record.status];
  results.file = file ? file->path() : options.config;
  if (!options.quiet) std::cout << report(std::span(&results, 1), {});
  print_summary(summary, file ? file->path() : "");
  return summary.ok() ? done : check_failed;
}

CLI::App* add_command(CLI::App& program, Context& context, const char* name, const char* summary,
                      bool measure) {
  auto options = std::make_shared<RunOptions>();
  options->measure = measure;
  CLI::App* command = program.add_subcommand(name, summary);
  command->add_option("config", options->config, "the config")->required();
  auto* output = command->add_option(
      "-o,--output", options->output,
      measure ? "results file (default: <config>-<date>-<time>.json in this folder)"
              : "results file (default: none is written)");
  auto* resume =
      command->add_flag("--resume", options->resume, "go on with the results file given by -o")
          ->needs(output);
  command->add_flag("--force", options->force, "replace the results file where there is one")
      ->excludes(resume);
  command->add_flag("-q,--quiet", options->quiet, "no tables, only the counts");
  command
      ->add_option("--seeds", options->seeds,
                   "draw the inputs of each problem so many times, to see the spread of its errors")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options->backend.add_to(*command);
  command->callback(
      [options, &context] { context.exit_code = execute(*options, context.command_line); });
  return command;
}

}  // namespace

void add_run(CLI::App& program, Context& context) {
  add_command(program, context, "run",
              "Verifies and measures every candidate of a config, and records it", true)
      ->footer(
          "Examples:\n  gla-bench run configs/quick.json -o build/quick.json\n"
          "  gla-bench run configs/h200/gla.json -o results/h200/gla.json --resume");
}

void add_verify(CLI::App& program, Context& context) {
  add_command(program, context, "verify",
              "Verifies every candidate of a config against float64, without timing it", false)
      ->footer(
          "Examples:\n  gla-bench verify configs/ci.json\n"
          "  gla-bench verify configs/ci.json --backend host -o build/ci.json --force");
}

}  // namespace gla_bench::commands
