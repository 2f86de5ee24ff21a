#include "harness/commands/tuning/tune_table.hpp"

#include <filesystem>
#include <iostream>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/config/sweep.hpp"
#include "harness/cost_model/predictor.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/text.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/evaluate.hpp"
#include "harness/tuned_table/foretell.hpp"
#include "harness/tuned_table/header.hpp"
#include "harness/tuned_table/table_file.hpp"

namespace gla_bench::commands {
namespace {

CurrentSource current_sources(const std::string& backend, const Catalog& catalog) {
  const auto id = parse_backend(backend);
  return [id, catalog](const Bucket& bucket, const TunedChoice& choice) {
    const Variant* variant =
        id ? catalog.find_variant(bucket.op, choice.variant, *id, bucket.direction) : nullptr;
    return variant == nullptr ? std::string() : source_hash(*variant);
  };
}

void print_counts(const MergeCounts& counts, const TunedTable& table, const std::string& path) {
  std::cout << path << ": " << table.entries.size() << " entries (" << counts.added << " added, "
            << counts.replaced << " replaced";
  if (counts.kept > 0) std::cout << ", " << counts.kept << " kept, being newer";
  if (counts.dropped > 0) std::cout << ", " << counts.dropped << " dropped: their variant is gone";
  if (counts.stale > 0) std::cout << ", " << counts.stale << " stale: their sources have changed";
  std::cout << ")\n";
}

/// The chooser of a table and the model that the options name, for the table's own device or that
/// of other records.
Chooser chooser_of(const TuneTableOptions& options, const TunedTable& table,
                   const Facts& environment, const Catalog& catalog) {
  const BackendId backend = parse_backend(table.backend).value_or(BackendId::host);
  Chooser chooser(catalog, backend, table, environment,
                  {options.allowed.begin(), options.allowed.end()},
                  [](const Variant& variant) { return source_hash(variant); });
  if (!options.model.empty())
    if (auto predictor = cost_model::open_predictor(options.model, backend, environment))
      chooser.predict_by(std::move(*predictor));
  for (const std::string& warning : chooser.warnings()) std::cerr << "warning: " << warning << "\n";
  return chooser;
}

void write_header(const TuneTableOptions& options, const TunedTable& table,
                  const Catalog& catalog) {
  TunedTable exported = table;
  if (!options.model.empty()) {
    if (table.entries.empty()) throw InputError(table.path + ": has no entries to export");
    const Facts& environment = table.environments.front();
    const Chooser chooser = chooser_of(options, table, environment, catalog);
    std::vector<Problem> like;
    if (options.problems.empty())
      like = tuned_examples(table);
    else
      for (const Sweep& sweep : load_config(options.problems, catalog).sweeps)
        for (Problem& problem : problems(sweep)) like.push_back(std::move(problem));
    const Limits limits = recorded_limits(environment);
    const std::vector<Problem> grid = problem_grid(like, usual_memory);
    std::cerr << options.header << ": choosing for " << grid.size() << " problems\n";
    exported = with_choices(chooser, grid, [&](const Candidate& candidate) {
      return candidate.variant->reject(candidate.problem, candidate.tile, limits);
    });
  } else if (!options.problems.empty()) {
    throw InputError("tune: --for needs a model, which chooses for those problems: --model MODEL");
  }
  write_output(options.header, export_header(exported));
  std::cout << options.header << ": a C++ header of " << exported.entries.size() << " entries";
  if (!options.model.empty())
    std::cout << ", " << exported.entries.size() - table.entries.size() << " of them by "
              << options.model;
  std::cout << "\n";
}

int evaluate_table(const TuneTableOptions& options, const TunedTable& table,
                   const Catalog& catalog) {
  const std::vector<Results> files = read_results(options.evaluate);
  const Chooser chooser = chooser_of(options, table, files.front().environment, catalog);
  const Evaluation evaluation = evaluate(files, chooser);
  std::cout << evaluation_report(evaluation, options.markdown);
  bool good = true;
  for (const EvaluatedProblem& row : evaluation.problems) good = good && !row.failed;
  good = good && options.limits.hold(evaluation.judged, evaluation.unknown,
                                     evaluation.median_regret, evaluation.worst_regret);
  return good ? done : check_failed;
}

}  // namespace

void TuneTableOptions::add_to(CLI::App& command) {
  command
      .add_option("--from", from,
                  "results files: put what they say is best into the table (-o), without a GPU")
      ->type_name("FILE");
  command.add_option("--tuned", tuned, "the table to export or evaluate, or that a search writes")
      ->type_name("TABLE");
  command
      .add_option("--export-header", header,
                  "write the table as a C++17 header that depends on nothing")
      ->type_name("FILE");
  command
      .add_option("--evaluate", evaluate,
                  "results files: for each of their problems the table's choice against the best "
                  "that they hold, with the regret")
      ->type_name("FILE");
  command
      .add_option(
          "--model", model,
          "the cost model that a search goes by (default: as for auto), and with --evaluate "
          "and --export-header the choices, besides the table (default: none)")
      ->type_name("MODEL");
  command
      .add_option(
          "--for", problems,
          "with --export-header and --model: a config for whose problems, in all sizes, the "
          "header says what auto says (default: those that the table was made from)")
      ->type_name("CONFIG");
  limits.add_to(command);
  command
      .add_option("--allow", allowed, "facts of the environment that may differ (compare --help)")
      ->type_name("FACT");
  command.add_flag("--markdown", markdown, "tables as markdown");
}

TunedTable update_table(std::span<const Results> files, std::string path,
                        const std::vector<std::string>& allowed, bool markdown,
                        const Catalog& catalog) {
  const TunedTable fresh = build_table(files);
  if (fresh.entries.empty())
    throw InputError(files.empty() ? std::string("no results files")
                                   : files.front().file +
                                         ": no record is right and timed, so that nothing can win");
  // A user's first table starts as a copy of the one that came with the program, so that no known
  // entry is hidden by it.
  std::optional<std::string> base = path;
  if (path.empty()) {
    path = default_table_path(fresh.device);
    base = find_table(fresh.device);
  }
  TunedTable table;
  if (base && std::filesystem::exists(*base)) table = load_table(*base);
  if (base && *base != path) std::cerr << path << ": begins as a copy of " << *base << "\n";
  table.path = path;
  for (const std::string& label :
       differing_environments(table, fresh, {allowed.begin(), allowed.end()}))
    std::cerr << "warning: " << path << ": entries of other places: " << label << "\n";
  const MergeCounts counts = merge_tables(table, fresh, current_sources(fresh.backend, catalog));
  write_table(table, path);
  std::cout << table_report(fresh, markdown);
  print_counts(counts, table, path);
  return table;
}

int tune_table(const TuneTableOptions& options, const std::string& output, const Catalog& catalog) {
  const NamedFiles records = together(results_files("--from", options.from),
                                      results_files("--evaluate", options.evaluate));
  expect_apart(records, NamedFiles{{"--output", options.from.empty() ? "" : output},
                                   {"--export-header", options.header}});
  expect_apart(NamedFiles{{"--tuned", options.tuned}},
               NamedFiles{{"--export-header", options.header}});
  TunedTable table;
  if (!options.from.empty())
    table = update_table(read_results(options.from), output, options.allowed, options.markdown,
                         catalog);
  else if (options.tuned.empty())
    throw InputError("tune: --export-header and --evaluate need a table: --tuned TABLE");
  if (!options.tuned.empty()) table = load_table(options.tuned);
  if (!options.header.empty()) write_header(options, table, catalog);
  return options.evaluate.empty() ? done : evaluate_table(options, table, catalog);
}

}  // namespace gla_bench::commands
