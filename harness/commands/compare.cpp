// gla-bench compare: two results files, or one of interleaved rounds -> verdicts.

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/commands/shared/output_width.hpp"
#include "harness/judge/calibration.hpp"
#include "harness/judge/comparison_report.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench::commands {
namespace {

struct CompareOptions {
  std::vector<std::string> files;
  std::string calibration, json, junit, color = "auto";
  std::vector<std::string> allowed;
  std::optional<double> min_effect;  ///< percent
  bool gate = false, markdown = false, all = false, missing_allowed = false, no_times = false;
};

ComparisonPolicy policy_of(const CompareOptions& options, const std::optional<NoiseFloor>& floor) {
  ComparisonPolicy policy;
  std::optional<double> asked;
  if (options.min_effect) asked = *options.min_effect / 100;
  policy.change.min_effect = gate_effect(asked, floor);
  expect_known_facts(options.allowed);
  policy.allowed.insert(options.allowed.begin(), options.allowed.end());
  policy.missing_allowed = options.missing_allowed;
  policy.times = !options.no_times;
  return policy;
}

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return done;
    case Outcome::inconclusive:
      return inconclusive;
    case Outcome::regression:
      return regression;
    case Outcome::wrong:
      break;
  }
  return check_failed;
}

int execute(const CompareOptions& options) {
  expect_apart(together(results_files("the results file", options.files),
                        results_file("--calibration", options.calibration)),
               NamedFiles{{"--json", options.json}, {"--junit", options.junit}});
  const std::vector<Results> files = read_results(options.files);
  std::optional<NoiseFloor> floor;
  if (!options.calibration.empty())
    floor = noise_floor(read_results(options.calibration), BootstrapPolicy{});
  const ComparisonPolicy policy = policy_of(options, floor);
  const Comparison comparison = files.size() == 1 ? compare_rounds(files[0], policy)
                                                  : compare_files(files[0], files[1], policy);
  if (!options.json.empty()) write_output(options.json, comparison_json(comparison).dump(1) + "\n");
  if (!options.junit.empty())
    write_output(options.junit, junit_xml(comparison_verdicts(comparison)));
  std::cout << comparison_text(
      comparison, {options.markdown, options.all, output_width(), is_coloured(options.color)});
  const std::string lead = options.markdown ? "\n- " : "";
  if (floor)
    std::cout << lead << "noise floor " << format_change(1 + floor->effect).substr(1) << " ("
              << floor->rows << " rows of " << floor->file << ")\n";
  else if (options.gate)
    std::cout << lead << "no --calibration: the minimum effect is not checked against the noise\n";
  const Outcome outcome = outcome_of(comparison);
  if (options.gate) std::cout << lead << "gate: " << name(outcome) << "\n";
  return options.gate ? exit_code(outcome) : done;
}

}  // namespace

void add_compare(CLI::App& program, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = program.add_subcommand(
      "compare", "Holds results against others: faster, slower, same or inconclusive, row by row");
  command
      ->add_option("files", options->files,
                   "BASE and NEW, or one file of run --against, which holds both")
      ->required()
      ->expected(1, 2);
  command->add_flag("--gate", options->gate,
                    "exit with 1 for a wrong result or a crash, 3 for a regression (slower, less "
                    "accurate, missing), 4 where nothing worse than inconclusive was found");
  command
      ->add_option("--min-effect", options->min_effect,
                   "percent that count as a change (default: 2, or the noise floor)")
      ->check(CLI::Range(0.01, 100.0));
  command->add_option("--calibration", options->calibration,
                      "a file of run --against the same program: its noise floor is the smallest "
                      "effect that may be asked for");
  command
      ->add_option("--allow", options->allowed,
                   "facts in which the environments may differ, such as power_limit_watts")
      ->delimiter(',');
  command->add_flag("--allow-missing", options->missing_allowed,
                    "rows that NEW lacks are listed, but pass");
  command->add_flag("--no-times", options->no_times, "compare statuses and errors alone");
  command->add_flag("--markdown", options->markdown, "markdown, for a pull request");
  command->add_flag("--all", options->all, "list unchanged rows, too");
  add_color_option(*command, options->color);
  command->add_option("--json", options->json, "write the comparison as JSON to this file");
  command->add_option("--junit", options->junit, "write the verdicts as JUnit XML to this file");
  command->footer(
      "Examples:\n  gla-bench compare old.json new.json\n"
      "  gla-bench compare rounds.json --gate --calibration aa.json --markdown\n"
      "Exit codes with --gate: 0 passed, 1 wrong result or crash, 2 bad input or not comparable, 3 "
      "regression,\n4 inconclusive, 5 the machine failed. The worst row decides: 1 before 3 before "
      "4.");
  command->callback([options, &context] { context.exit_code = execute(*options); });
}

}  // namespace gla_bench::commands
