// gla-bench export: writes results in the formats of other tools.

#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/records/record_file.hpp"
#include "harness/report/t4.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench::commands {
namespace {

struct ExportOptions {
  std::vector<std::string> files;
  std::string t4;
};

void execute(const ExportOptions& options) {
  expect_apart(results_files("the results file", options.files), NamedFiles{{"--t4", options.t4}});
  std::vector<Results> files;
  for (const std::string& path : options.files) files.push_back(read_results(path));
  const Json document = t4_document(files);
  std::string text = document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_output(options.t4, text);
  std::size_t records = 0;
  for (const Results& results : files) records += results.records.size();
  const std::size_t written = document.at("results").size();
  std::cout << options.t4 << ": " << written << " results";
  if (records > written)
    std::cout << "; " << records - written
              << " records of peers or of candidates that were not tried are not in it";
  std::cout << "\n";
}

}  // namespace

void add_export(CLI::App& program, Context&) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = program.add_subcommand(
      "export", "Results in the T4 format that autotuners share, with verdicts and errors");
  command->add_option("files", options->files, "results files of one device")->required();
  command
      ->add_option("--t4", options->t4,
                   "the file to write: configurations, runtimes, correctness, measurements")
      ->required();
  command->footer("Examples:\n  gla-bench export results/h200/gla.json --t4 gla.t4.json");
  command->callback([options] { execute(*options); });
}

}  // namespace gla_bench::commands
