// gla-bench renew: rows take the verdicts of a newer verification and keep their times.

#include <algorithm>
#include <iostream>
#include <map>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/judge/renewal.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench::commands {
namespace {

struct RenewOptions {
  std::string old;
  std::vector<std::string> verified;
  std::string output;
  bool force = false, all = false;
};

constexpr std::size_t shown_rows = 10;  // of each reason

void expect_finished(const Results& results) {
  if (results.unfinished)
    throw InputError(results.file +
                     ": has a journal beside it, so its run has not come to its end");
}

void tell(const Renewal& renewal, std::size_t most) {
  std::map<std::string, std::vector<const NotRenewed*>> by_reason;
  for (const NotRenewed& row : renewal.left) by_reason[row.why].push_back(&row);
  for (const auto& [why, rows] : by_reason) {
    std::cout << rows.size() << " left as they are: " << why << "\n";
    for (std::size_t i = 0; i < std::min(most, rows.size()); ++i)
      std::cout << "  " << rows[i]->candidate << "\n";
    if (rows.size() > most) std::cout << "  and " << rows.size() - most << " more\n";
  }
}

int execute(const RenewOptions& options) {
  expect_apart(results_files("--verified", options.verified),
               results_file("--output", options.output));
  RecordFile::expect_writable(
      options.output, options.force ? RecordFile::Existing::replace : RecordFile::Existing::refuse);
  Results old = read_results(options.old);
  expect_finished(old);
  const std::vector<Results> verified = read_results(options.verified);
  for (const Results& file : verified) expect_finished(file);
  const Renewal renewal = renew(old, verified);
  std::vector<std::string> lines;
  for (const Record& record : old.records) lines.push_back(record_line(record));
  write_output(options.output, results_text(old, lines), "what it held is kept");
  std::cout << options.output << ": " << renewal.renewed << " rows have a newer verdict, "
            << renewal.current << " had it already, " << renewal.left.size() << " do not\n";
  tell(renewal, options.all ? lines.size() : shown_rows);
  const bool wrong = std::ranges::any_of(renewal.left, &NotRenewed::wrong);
  return wrong ? check_failed : done;
}

}  // namespace

void add_renew(CLI::App& program, Context& context) {
  auto options = std::make_shared<RenewOptions>();
  CLI::App* command = program.add_subcommand(
      "renew",
      "Gives measured rows the verdicts of a newer verification, and leaves their times as they "
      "are");
  command->add_option("file", options->old, "the results file with the times")->required();
  command
      ->add_option("--verified", options->verified,
                   "results files of `verify` with the same config, on the same kind of device")
      ->required();
  command->add_option("-o,--output", options->output, "the results file to write")->required();
  command->add_flag("--force", options->force,
                    "replace the output where there is one; it may be the file itself");
  command->add_flag("--all", options->all, "list every row that is left as it is");
  command->footer(
      "A row is renewed where the candidate is of the same sources and left the same outputs. The\n"
      "others stay as they are, and `run --resume` measures them again.\n\n"
      "Examples:\n  gla-bench verify sweep.json -o verified.json\n"
      "  gla-bench renew measured.json --verified verified.json -o measured.json --force");
  command->callback([options, &context] { context.exit_code = execute(*options); });
}

}  // namespace gla_bench::commands
