// gla-bench emit: a candidate as source code for other programs.

#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/config/candidates/candidates.hpp"
#include "harness/emit/project.hpp"
#include "harness/records/contest.hpp"
#include "harness/records/record_file.hpp"
#include "harness/records/selection.hpp"

namespace gla_bench::commands {
namespace {

constexpr double usual_golden_bytes = 64e6;
constexpr std::size_t most_listed = 12;

struct EmitOptions {
  std::string what, folder, name, architecture = "sm_90a";
  double golden_bytes = usual_golden_bytes;
  bool force = false;
  BackendOptions backend;
  CandidateOptions candidates;
  AutoOptions choice;
};

/// What is to be emitted, and where it comes from in words.
struct Wanted {
  Selection selection;
  std::string origin;
};

/// The winner of the one problem of a results file that has a winner on a GPU.
Wanted winner_of(const std::string& path) {
  const Results results = read_results(path);
  std::vector<const Record*> winners;
  std::string list;
  for (const Contest& contest : contests_of(std::span(&results, 1))) {
    if (contest.backend != BackendId::cuda || contest.winner() == nullptr) continue;
    const Record* record = contest.winner()->record;
    winners.push_back(record);
    if (winners.size() <= most_listed)
      list += "\n  " + path + "#" + std::to_string(record - results.records.data() + 1) + "  " +
              record->variant + " on " + describe(record->problem);
  }
  if (winners.empty())
    throw InputError(path + ": found no winner on a GPU, expected one that is to be emitted");
  if (winners.size() > 1)
    throw InputError(path + ": found the winners of " + std::to_string(winners.size()) +
                     " problems, expected one of them, by its row:" + list +
                     (winners.size() > most_listed ? "\n  ..." : ""));
  return {selection_of(*winners.front()), "the winner of " + path};
}

Wanted wanted_by(const std::string& what) {
  const bool whole_file = !what.starts_with('{') && what.rfind('#') == std::string::npos;
  if (whole_file) return winner_of(what);
  return {read_selection(what), what.starts_with('{') ? "a selection" : what};
}

/// What `auto` takes for the problem, by a table or a model.
Candidate chosen(const EmitOptions& options, const Selection& selection, const Catalog& catalog,
                 const Limits& limits, std::string& origin) {
  Config config;
  Sweep sweep;
  sweep.variants = {std::string(auto_variant)};
  config.sweeps.push_back(sweep);
  const Place place = place_of(BackendId::cuda, limits, "", options.backend);
  const auto chooser = open_chooser(config, options.choice, catalog, place, {});
  const Choice choice = chooser->choose(selection.problem, [&](const Candidate& candidate) {
    return candidate.variant->reject(candidate.problem, candidate.tile, limits);
  });
  if (!choice.candidate)
    throw InputError("auto: no variant takes " + describe(selection.problem) + ": " +
                     choice.by.note);
  origin = "the choice of auto" + (choice.by.note.empty() ? "" : " (" + choice.by.note + ")");
  return *choice.candidate;
}

Catalog catalog_with(const CandidateOptions& candidates, const Selection& selection) {
  const Catalog catalog = candidates.catalog();
  const Problem& problem = selection.problem;
  const bool has = catalog.find_variant(problem.op, selection.variant, selection.backend,
                                        problem.direction) != nullptr;
  return has || selection.manifest.empty() ? catalog : with_manifest(catalog, selection.manifest);
}

void execute(const EmitOptions& options) {
  Wanted wanted = wanted_by(options.what);
  const std::vector<int> architectures = parse_architectures(options.architecture);
  if (architectures.size() != 1)
    throw InputError("--arch: found \"" + options.architecture + "\", expected one architecture");
  const Limits limits = limits_of(architectures.front());
  const Catalog catalog = catalog_with(options.candidates, wanted.selection);
  const Candidate candidate =
      wanted.selection.variant == auto_variant
          ? chosen(options, wanted.selection, catalog, limits, wanted.origin)
          : find_candidate(wanted.selection, catalog, limits);
  const SourceStore store = options.backend.cuda.source_dir.empty()
                                ? SourceStore()
                                : SourceStore(options.backend.cuda.source_dir);
  const std::string name = options.name.empty() ? launcher_name(candidate.problem) : options.name;
  const LauncherRequest request{*catalog.find_operator(candidate.problem.op), candidate, limits,
                                store, name};
  const ProjectFiles files = project_files(request, wanted.origin, options.golden_bytes);
  const std::filesystem::path folder(options.folder);
  for (const auto& [path, text] : files)
    if (!options.force && std::filesystem::exists(folder / path))
      throw InputError((folder / path).string() + ": is there already; --force replaces it");
  for (const auto& [path, text] : files) write_output((folder / path).string(), text);
  std::cout << describe(candidate) << "\nwritten to " << options.folder << ": " << name << ".cu, "
            << name << ".h and " << files.size() - 2 << " files beside them\n";
}

}  // namespace

void add_emit(CLI::App& program, Context&) {
  auto options = std::make_shared<EmitOptions>();
  CLI::App* command = program.add_subcommand(
      "emit", "Writes a candidate as one .cu file with a C launcher, a test and CMake");
  command
      ->add_option("candidate", options->what,
                   "FILE#ROW (a record, counted from 1), FILE (the winner of its only problem), or "
                   "a record's selection as JSON, whose variant may be auto")
      ->required();
  command->add_option("-o,--output", options->folder, "the folder to write")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--name", options->name,
                      "the launcher's name (default: operator and direction)");
  command->add_option("--arch", options->architecture, "the architecture that it is compiled for")
      ->capture_default_str();
  command
      ->add_option("--golden-bytes", options->golden_bytes,
                   "the most that the test's inputs and outputs may take")
      ->capture_default_str();
  command->add_flag("--force", options->force, "replace files that are there");
  command->add_option("--kernels", options->backend.cuda.source_dir,
                      "read kernel sources from this folder instead of the program");
  options->candidates.add_to(*command);
  options->choice.add_to(*command);
  command->footer(
      "Examples:\n  gla-bench emit results/h200/gla.json#12 -o gla_forward\n"
      "  gla-bench emit winner.json -o kernel --name my_gla --arch sm_90a");
  command->callback([options] { execute(*options); });
}

}  // namespace gla_bench::commands
