// gla-bench report: makes tables of results files.

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/commands/shared/output_width.hpp"
#include "harness/judge/comparison_report.hpp"
#include "harness/report/maps/crossover_text.hpp"
#include "harness/report/page/page.hpp"
#include "harness/report/text/best.hpp"
#include "harness/report/text/comparison.hpp"
#include "harness/report/text/report.hpp"
#include "harness/report/text/rows.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench::commands {
namespace {

struct ReportOptions {
  std::vector<std::string> files, against, allowed;
  std::string json, csv, html, where;
  bool markdown = false, map = false, best = false;
  std::size_t width = 0;
  std::string color = "auto";
};

void write_rows(const std::vector<Results>& files, const ReportOptions& options) {
  const std::vector<Json> rows = flat_rows(files);
  if (!options.csv.empty()) write_output(options.csv, csv_of(rows));
  if (!options.json.empty()) write_output(options.json, Json(rows).dump(1) + "\n");
}

void print_best(const std::vector<Results>& files, const ReportOptions& options,
                std::size_t width) {
  const bool colour = is_coloured(options.color);
  for (const auto& [title, table] : best_tables(files))
    std::cout << (options.markdown
                      ? "**" + markdown_text(title) + "**\n\n" + table.markdown()
                      : toned(title, Tone::strong, colour) + "\n" + table.text(width, colour))
              << "\n";
}

void print_maps(const std::vector<Results>& files, const ReportOptions& options,
                std::size_t width) {
  const ContestPolicy policy;
  const auto maps = crossover_maps(files, policy);
  if (!options.json.empty())
    write_output(options.json, crossover_json(maps, policy).dump(1) + "\n");
  std::cout << crossover_text(maps, policy, {options.markdown, width});
}

std::vector<Results> read_files(const std::vector<std::string>& paths, const std::string& where) {
  std::vector<Results> files = read_results(paths);
  return where.empty() ? files : RecordFilter(where).of(files);
}

std::optional<Comparison> comparison_of(const std::vector<Results>& files,
                                        const ReportOptions& options) {
  ComparisonPolicy policy;
  expect_known_facts(options.allowed);
  policy.allowed.insert(options.allowed.begin(), options.allowed.end());
  return compare_runs(read_files(options.against, options.where), files, policy);
}

void print_report(const std::vector<Results>& files, const ReportOptions& options,
                  std::size_t width) {
  const auto comparison = comparison_of(files, options);
  std::cout << report(files, {options.markdown, width, is_coloured(options.color)},
                      comparison ? &*comparison : nullptr);
}

/// Writes whatever is asked for instead of the printed report.
void write_files(const std::vector<Results>& files, ReportOptions options) {
  const bool rows = options.against.empty();
  std::optional<Comparison> comparison;
  if (!options.html.empty() || !rows) comparison = comparison_of(files, options);
  if (!options.html.empty())
    write_output(options.html, page_html({files, comparison ? &*comparison : nullptr}));
  if (!rows && !options.json.empty()) {
    write_output(options.json, comparison_json(*comparison).dump(1) + "\n");
    options.json.clear();
  }
  if (!options.csv.empty() || !options.json.empty()) write_rows(files, options);
}

}  // namespace

void add_report(CLI::App& program, Context&) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = program.add_subcommand(
      "report",
      "Tables of results files: per problem each variant's best tile, the winner marked; or maps: "
      "where which variant wins");
  command->add_option("files", options->files, "results files; several are merged")->required();
  auto* map = command->add_flag(
      "--map", options->map,
      "cross-over maps: over length and batch * heads, which variant wins, by how much, and where "
      "the times cannot be told apart");
  command
      ->add_flag("--best", options->best,
                 "a line for each problem: the fastest variant, the next one, the fastest peer")
      ->excludes(map);
  command->add_option("--where", options->where,
                      "only records that fit: operator=gla,dtype=bf16|fp16,seq>=4096,chunk=64");
  command
      ->add_option("--csv", options->csv,
                   "instead of tables: each record as a row of CSV, to this file (-: to standard "
                   "output)")
      ->excludes(map);
  command->add_option(
      "--json", options->json,
      "instead of tables: each record as a flat object, to this file (-: to standard "
      "output); with --map the maps, too");
  command
      ->add_option("--html", options->html,
                   "instead of tables: one page with figures and every record, to this file (-: to "
                   "standard output)")
      ->excludes(map);
  auto* against = command->add_option(
      "--against", options->against,
      "results files of an earlier run, one for each file: the report ends with the comparison of "
      "the two, and --json writes it instead of rows");
  against->excludes(map);
  command
      ->add_option("--allow", options->allowed,
                   "with --against: facts in which the environments may differ, such as "
                   "power_limit_watts")
      ->delimiter(',')
      ->needs(against);
  command->add_flag("--markdown", options->markdown, "markdown instead of aligned text");
  command->add_option("--width", options->width,
                      "columns to fit into (default: the terminal's; 0 without one: no limit)");
  add_color_option(*command, options->color);
  command->footer(
      "Examples:\n  gla-bench report build/quick.json\n"
      "  gla-bench report results/h200/*.json --markdown > tables.md\n"
      "  gla-bench report results/h200/*.json --best --where operator=gla,dtype=bf16,key_dim=128\n"
      "  gla-bench report results/h200/*.json --where status=measured --csv rows.csv\n"
      "  gla-bench report results/h200/*.json --html h200.html\n"
      "  gla-bench report new.json --against old.json --markdown\n"
      "  gla-bench report results/h200/*.json --map --json maps.json");
  command->callback([options] {
    expect_apart(
        together(results_files("the results file", options->files),
                 results_files("--against", options->against)),
        NamedFiles{{"--csv", options->csv}, {"--json", options->json}, {"--html", options->html}});
    const std::vector<Results> files = read_files(options->files, options->where);
    const std::size_t width = options->width > 0 ? options->width : output_width();
    if (options->map)
      print_maps(files, *options, width);
    else if (!options->html.empty() || !options->csv.empty() || !options->json.empty())
      write_files(files, *options);
    else if (options->best)
      print_best(files, *options, width);
    else
      print_report(files, *options, width);
  });
}

}  // namespace gla_bench::commands
