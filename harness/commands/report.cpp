// gla-bench report: results files -> tables.

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/atomic_file.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/output_width.hpp"
#include "harness/crossover/crossover_text.hpp"
#include "harness/error.hpp"
#include "harness/report.hpp"

namespace gla_bench::commands {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string json;
  bool markdown = false, map = false;
  std::size_t width = 0;
};

void print_maps(const std::vector<Results>& files, const ReportOptions& options,
                std::size_t width) {
  const CrossoverPolicy policy;
  const auto maps = crossover_maps(files, policy);
  if (!options.json.empty())
    if (const int error = replace_file(options.json, crossover_json(maps, policy).dump(1) + "\n"))
      throw OutputError(options.json + ": can not be written: " + std::strerror(error));
  std::cout << crossover_text(maps, policy, {options.markdown, width});
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
      "the times can not be told apart");
  command->add_option("--json", options->json, "write the maps as JSON to this file, too")
      ->needs(map);
  command->add_flag("--markdown", options->markdown, "markdown instead of aligned text");
  command->add_option("--width", options->width,
                      "columns to fit into (default: the terminal's; 0 without one: no limit)");
  command->footer(
      "Examples:\n  gla-bench report build/quick.json\n"
      "  gla-bench report results/h200/*.json --markdown > tables.md\n"
      "  gla-bench report results/h200/*.json --map --json maps.json");
  command->callback([options] {
    std::vector<Results> files;
    for (const std::string& path : options->files) files.push_back(read_results(path));
    const std::size_t width = options->width > 0 ? options->width : output_width();
    if (options->map)
      print_maps(files, *options, width);
    else
      std::cout << report(files, {options->markdown, width});
  });
}

}  // namespace gla_bench::commands
