// gla-bench report: results files -> tables.

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "harness/commands/commands.hpp"
#include "harness/report.hpp"

namespace gla_bench::commands {
namespace {

/// Columns of standard output where it is a terminal; 0 elsewhere.
std::size_t output_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

void add_report(CLI::App& program, Context&) {
  struct Options {
    std::vector<std::string> files;
    bool markdown = false;
    std::size_t width = 0;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "report", "Tables of results files: per problem each variant's best tile, the winner marked");
  command->add_option("files", options->files, "results files; several are merged")->required();
  command->add_flag("--markdown", options->markdown, "markdown instead of aligned text");
  command->add_option("--width", options->width,
                      "columns to fit into (default: the terminal's; 0 without one: no limit)");
  command->footer(
      "Examples:\n  gla-bench report build/quick.json\n"
      "  gla-bench report results/h200/*.json --markdown > tables.md");
  command->callback([options] {
    std::vector<Results> files;
    for (const std::string& path : options->files) files.push_back(read_results(path));
    const std::size_t width = options->width > 0 ? options->width : output_width();
    std::cout << report(files, {options->markdown, width});
  });
}

}  // namespace gla_bench::commands
