// gla-bench bench: a config's candidates under Google Benchmark.

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/engine/bench.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench::commands {
namespace {

struct Options {
  std::string config;
  bool hot = false;
  BackendOptions backend;
  CandidateOptions candidates;
  AutoOptions choice;
};

/// The name of the program that is linked with Google Benchmark where that is a shared library
/// (cmake/Programs.cmake).
constexpr const char* other_program = "gla-bench-google";

/// Replaces this process by that program, with the same arguments. @throws InputError where it
/// cannot be started
[[noreturn]] void become_other_program(const std::vector<std::string>& arguments) {
  const std::filesystem::path folder = program_folder();
  const std::filesystem::path installed =
      folder.parent_path() / "libexec/gla-bench" / other_program;
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::exists(installed, error) ? installed : folder / other_program;
  static char name[] = "gla-bench";
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers{name};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(path.c_str(), pointers.data());
  const int number = errno;
  throw InputError("bench: Google Benchmark is in a program of its own, " + path.string() +
                   ", which cannot be started: " + std::strerror(number));
}

int execute(const Options& options, const std::vector<std::string>& arguments,
            const Context& context) {
  if (context.bench == nullptr) become_other_program(context.arguments);
  const Config config = load_config(options.config, options.candidates.catalog());
  const Catalog& catalog = config.catalog;
  NamedFiles outputs;
  for (const std::string& argument : arguments)
    if (constexpr std::string_view flag = "--benchmark_out="; argument.starts_with(flag))
      outputs.push_back({"--benchmark_out", argument.substr(flag.size())});
  expect_apart(together(config_files(config), {{"--tuned", options.choice.tuned}}), outputs);
  const auto backend = open_backend(options.backend, config.backend);
  const Place place = place_of(*backend, options.backend);
  const Facts environment = make_environment(*backend, context.command_line, std::nullopt);
  const auto chooser = open_chooser(config, options.choice, catalog, place, environment);
  std::vector<Candidate> candidates;
  for (const Assignment& work : assignments(config, catalog, place, pointer_to(chooser)))
    candidates.insert(candidates.end(), work.accepted.begin(), work.accepted.end());
  BenchOptions bench_options;
  bench_options.arguments = arguments;
  bench_options.hot = options.hot;
  bench_options.reference = config.policy.verification.reference;
  if (!config.policy.tolerance.empty())
    bench_options.tolerance = load_tolerance(config.policy.tolerance);
  for (const auto& [key, fact] : environment)
    bench_options.context[key] = fact_text(environment, key);
  const BenchOutcome outcome = context.bench(*backend, candidates, bench_options);
  for (const auto& [name, failure] : outcome.failures)
    std::cerr << "FAIL " << name << ": " << failure << "\n";
  return outcome.failures.empty() ? done : check_failed;
}

}  // namespace

void add_bench(CLI::App& program, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "bench",
      "Measures a config's candidates under Google Benchmark, each verified before and "
      "after");
  command->add_option("config", options->config, "the config")->required();
  command->add_flag("--hot", options->hot, "each candidate a second time with warm caches");
  options->backend.add_to(*command);
  options->candidates.add_to(*command);
  options->choice.add_to(*command);
  command->allow_extras();  // Google Benchmark's own options
  command->footer(
      "All --benchmark_... options of Google Benchmark are handed on.\nExamples:\n"
      "  gla-bench bench configs/quick.json --benchmark_filter=chunk_fused\n"
      "  gla-bench bench configs/quick.json --benchmark_out=new.json "
      "--benchmark_repetitions=9\n  compare.py benchmarks old.json new.json");
  command->callback([options, command, &context] {
    const std::vector<std::string> extras = command->remaining();
    for (const std::string& extra : extras)
      if (!extra.starts_with("--benchmark_"))
        throw InputError("bench: unknown argument \"" + extra + "\"");
    context.exit_code = execute(*options, extras, context);
  });
}

}  // namespace gla_bench::commands
