// gla-bench merge: the results files of shards become one.

#include <atomic>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/judge/merge/lacking.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench::commands {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  bool by_device = false, force = false, all = false;
};

constexpr std::size_t shown_candidates = 10;  // of each shard

/// Reads all files on all cores. Of several faults it reports that of the first file.
std::vector<ShardPart> read_parts(const std::vector<std::string>& files) {
  std::vector<ShardPart> parts(files.size());
  std::vector<std::exception_ptr> faults(files.size());
  std::atomic<std::size_t> next{0};
  std::mutex held;
  std::shared_ptr<const Json> config;  // one for all that have the same, which is large
  const auto read = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) try {
        parts[i] = shard_part(read_results(files[i]));
        const std::lock_guard lock(held);
        if (!config) config = parts[i].head.config;
        if (*parts[i].head.config == *config) parts[i].head.config = config;
      } catch (...) {
        faults[i] = std::current_exception();
      }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(read);
  read();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& fault : faults)
    if (fault) std::rethrow_exception(fault);
  return parts;
}

/// "whole.json" for a device becomes "whole-nvidia-h200.json".
std::string path_for(const std::string& output, const Results& head, std::set<std::string>& taken) {
  const std::filesystem::path path(output);
  const std::string stem = (path.parent_path() / path.stem()).string() + "-" +
                           device_slug(fact_text(head.environment, "device"));
  std::string name = stem + path.extension().string();
  for (int number = 2; !taken.insert(name).second; ++number)
    name = stem + "-" + std::to_string(number) + path.extension().string();
  return name;
}

struct Output {
  std::string path;
  MergedFile file;
};

std::vector<Output> merged_outputs(const MergeOptions& options) {
  std::vector<Output> outputs;
  std::vector<ShardPart> parts = read_parts(options.files);
  if (!options.by_device) {
    outputs.push_back({options.output, merge(std::move(parts))});
    return outputs;
  }
  std::set<std::string> taken;
  for (std::vector<ShardPart>& group : parts_by_device(std::move(parts))) {
    MergedFile file = merge(std::move(group));
    std::string path = path_for(options.output, file.head, taken);
    outputs.push_back({std::move(path), std::move(file)});
  }
  return outputs;
}

void expect_writable(const MergeOptions& options, const std::string& output) {
  expect_apart(results_files("the shard's file", options.files), results_file("--output", output));
  RecordFile::expect_writable(
      output, options.force ? RecordFile::Existing::replace : RecordFile::Existing::refuse);
}

int execute(const MergeOptions& options) {
  if (!options.by_device) expect_writable(options, options.output);
  std::vector<Output> outputs = merged_outputs(options);
  bool whole = true;
  for (const Output& output : outputs) {
    if (options.by_device) expect_writable(options, output.path);
    if (output.file.lacking.empty()) continue;
    whole = false;
    std::cerr << output.path << " would not be whole:\n"
              << describe(output.file.lacking,
                          options.all ? output.file.lines.max_size() : shown_candidates);
  }
  if (!whole) {
    std::cerr
        << "nothing is written; `run CONFIG --shard I/N --resume -o FILE` completes a shard\n";
    return check_failed;
  }
  for (Output& output : outputs) {
    const std::string text = results_text(output.file.head, output.file.lines);
    if (text.size() > most_results_bytes)
      throw InputError(
          output.path + ": would have " + std::to_string(text.size()) +
          " bytes, and results files of more than " + std::to_string(most_results_bytes) +
          " are not read; run the config in parts (verify --operators, or a config each)");
    write_output(output.path, text, "what it held is kept");
    std::cout << output.path << ": " << output.file.lines.size() << " records of "
              << output.file.head.parts.size() << " shards\n";
  }
  return done;
}

}  // namespace

void add_merge(CLI::App& program, Context& context) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = program.add_subcommand(
      "merge", "Makes one results file of the files of all shards, or says what is missing");
  command->add_option("files", options->files, "results files of `run --shard`")->required();
  command->add_option("-o,--output", options->output, "the results file to write")->required();
  command->add_flag("--force", options->force, "replace the output where there is one");
  command->add_flag("--by-device", options->by_device,
                    "one file for each kind of device, with the device in its name");
  command->add_flag("--all", options->all, "list every candidate that is missing");
  command->footer(
      "Examples:\n  gla-bench merge part-*.json -o whole.json\n"
      "  gla-bench merge part-*.json -o whole.json --by-device");
  command->callback([options, &context] { context.exit_code = execute(*options); });
}

}  // namespace gla_bench::commands
