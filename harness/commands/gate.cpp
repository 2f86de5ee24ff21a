// gla-bench gate: recorded files -> exit code.

#include <fstream>
#include <iostream>

#include "harness/commands/commands.hpp"
#include "harness/error.hpp"
#include "harness/gate.hpp"
#include "harness/source_hash.hpp"

namespace gla_bench::commands {
namespace {

struct GateOptions {
  std::vector<std::string> files;
  std::string tolerance, junit;
  bool require_fresh = false;
};

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) throw InputError(path + ": can not be written");
}

int judge(const GateOptions& options) {
  GatePolicy policy{
      program_catalog(),
      options.tolerance.empty() ? default_tolerance() : load_tolerance(options.tolerance),
      options.require_fresh, [](const Variant& variant) { return source_hash(variant); }};
  std::vector<Results> files;
  for (const std::string& path : options.files) files.push_back(read_results(path));
  const std::vector<Verdict> verdicts = gate(files, policy);
  std::size_t failed = 0, skipped = 0, warnings = 0;
  for (const Verdict& verdict : verdicts) {
    const std::string subject = verdict.file + ": " + verdict.subject + ": ";
    for (const std::string& failure : verdict.failures)
      std::cout << "FAIL " << subject << failure << "\n";
    for (const std::string& warning : verdict.warnings)
      std::cout << "warning " << subject << warning << "\n";
    failed += verdict.failures.empty() ? 0 : 1;
    warnings += verdict.warnings.size();
    skipped += verdict.failures.empty() && !verdict.skipped.empty() ? 1 : 0;
  }
  if (!options.junit.empty()) write_text(options.junit, junit_xml(verdicts));
  const bool ok = passed(verdicts);
  std::cout << "gate " << (ok ? "passed" : "FAILED") << ": " << files.size()
            << (files.size() == 1 ? " file, " : " files, ") << verdicts.size() << " checked, "
            << failed << " failed, " << skipped << " refused or only built, " << warnings
            << " warnings\n";
  return ok ? done : check_failed;
}

}  // namespace

void add_gate(CLI::App& program, Context& context) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = program.add_subcommand(
      "gate", "Judges results files: exits with 1 on anything that is not verified as asked");
  command->add_option("files", options->files, "results files")->required();
  command->add_flag("--require-fresh", options->require_fresh,
                    "records of sources that have changed since fail, instead of a warning");
  command->add_option("--tolerance", options->tolerance,
                      "the caps to hold bounds to (default: the program's own)");
  command->add_option("--junit", options->junit, "write the verdicts as JUnit XML to this file");
  command->footer(
      "Examples:\n  gla-bench gate results/*/*.json\n"
      "  gla-bench gate build/ci.json --require-fresh --junit build/gate.xml");
  command->callback([options, &context] { context.exit_code = judge(*options); });
}

}  // namespace gla_bench::commands
