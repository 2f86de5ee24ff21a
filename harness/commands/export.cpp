// gla-bench export: writes results in the formats of other tools.

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/records/record_file.hpp"
#include "harness/report/flashinfer/dataset.hpp"
#include "harness/report/t4.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench::commands {
namespace {

constexpr double usual_most_bytes = 256e6;

struct ExportOptions {
  std::vector<std::string> files;
  std::string t4, flashinfer;
  double most_bytes = usual_most_bytes;
};

void write_t4(const std::string& path, const std::vector<Results>& files) {
  const Json document = t4_document(files);
  write_output(path, document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  std::size_t records = 0;
  for (const Results& results : files) records += results.records.size();
  const std::size_t written = document.at("results").size();
  std::cout << path << ": " << written << " results";
  if (records > written)
    std::cout << "; " << records - written
              << " records of peers or of candidates that were not tried are not in it";
  std::cout << "\n";
}

void write_flashinfer(const ExportOptions& options, const std::vector<Results>& files) {
  const flashinfer::Dataset set = flashinfer::dataset_of(files, SourceStore(), options.most_bytes);
  const std::string& folder = options.flashinfer;
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder))
    throw InputError("--flashinfer " + folder + ": is not empty, expected a new folder");
  if (set.files.empty())
    throw InputError("--flashinfer: found no problem with a winner on a GPU that has a definition");
  for (const flashinfer::Blob& blob : set.blobs) flashinfer::write_blob(folder, blob);
  for (const auto& [path, text] : set.files) write_output(folder + "/" + path, text);
  std::cout << folder << ": " << set.problems << " workloads, " << set.solutions << " solutions\n";
  for (const auto& [reason, problems] : set.left_out)
    std::cout << "  left out: " << problems << " for " << reason << "\n";
}

void execute(const ExportOptions& options) {
  if (options.t4.empty() && options.flashinfer.empty())
    throw InputError("export: found no format, expected --t4 FILE or --flashinfer FOLDER");
  expect_apart(results_files("the results file", options.files), NamedFiles{{"--t4", options.t4}});
  const std::vector<Results> files = read_results(options.files);
  if (!options.t4.empty()) write_t4(options.t4, files);
  if (!options.flashinfer.empty()) write_flashinfer(options, files);
}

}  // namespace

void add_export(CLI::App& program, Context&) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = program.add_subcommand(
      "export", "Results in formats of other tools: T4 of autotuners, flashinfer-bench");
  command->add_option("files", options->files, "results files of one device")->required();
  command->add_option("--t4", options->t4,
                      "the file to write: configurations, runtimes, correctness, measurements");
  command
      ->add_option("--flashinfer", options->flashinfer,
                   "the folder to write: definitions, workloads, and the winners as solutions and "
                   "traces")
      ->type_name("FOLDER");
  command
      ->add_option("--most-bytes", options->most_bytes,
                   "the most that the inputs of a workload may take in a file")
      ->capture_default_str();
  command->footer(
      "Examples:\n  gla-bench export results/h200/gla.json --t4 gla.t4.json\n"
      "  gla-bench export results/h200/headline.json --flashinfer dataset");
  command->callback([options] { execute(*options); });
}

}  // namespace gla_bench::commands
