// gla-bench gate: recorded files -> exit code.

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/judge/accuracy/accuracy_gate.hpp"
#include "harness/judge/gate.hpp"
#include "harness/judge/shares.hpp"
#include "harness/support/output_file.hpp"
#include "harness/verify/verifier_hash.hpp"

namespace gla_bench::commands {
namespace {

struct GateOptions {
  std::vector<std::string> files;
  std::string tolerance, junit, baseline, write_baseline;
  bool require_fresh = false, missing_allowed = false;
};

/// What --write-baseline is to store.
struct NewBaseline {
  AccuracyBaseline errors;
  std::size_t left_out = 0;
};

void store_baseline(const std::string& path, const NewBaseline& baseline) {
  write_output(path, accuracy_to_json(baseline.errors).dump(1) + "\n");
  std::cout << "baseline of " << baseline.errors.size() << " errors written to " << path << ", "
            << baseline.left_out << " left out for too few seeds\n";
}

int judge(const GateOptions& options) {
  expect_apart(
      together(results_files("the results file", options.files),
               {{"--tolerance", options.tolerance}, {"--baseline", options.baseline}}),
      NamedFiles{{"--junit", options.junit}, {"--write-baseline", options.write_baseline}});
  GatePolicy policy{
      program_catalog(),
      options.tolerance.empty() ? default_tolerance() : load_tolerance(options.tolerance),
      options.require_fresh, [](const Variant& variant) { return source_hash(variant); }};
  policy.caps_for_errors = !options.tolerance.empty();
  policy.verifier_hash = [on_host = verifier_hashes(BackendId::host, policy.tolerance),
                          on_cuda = verifier_hashes(BackendId::cuda, policy.tolerance)](
                             BackendId backend, const std::string& op) {
    return backend == BackendId::cuda ? on_cuda(op) : on_host(op);
  };
  const std::vector<Results> files = read_results(options.files);
  std::vector<Verdict> verdicts = gate(files, policy);
  const bool right = passed(verdicts);
  if (!options.baseline.empty()) {
    const Json document = read_json_file(options.baseline, most_results_bytes);
    const AccuracyBaseline baseline = read_accuracy(JsonNode(document, options.baseline));
    for (Verdict& verdict : accuracy_verdicts(files, baseline, options.missing_allowed))
      verdicts.push_back(std::move(verdict));
  }
  const bool ok = passed(verdicts);
  NewBaseline fresh;  // what cannot be stored is refused before anything is said
  if (ok && !options.write_baseline.empty())
    fresh.errors = baseline_to_store(files, fresh.left_out);
  std::size_t failed = 0, skipped = 0, warnings = 0;
  for (const Verdict& verdict : verdicts) {
    const std::string subject = verdict.file + ": " + verdict.subject + ": ";
    for (const std::string& failure : verdict.failures)
      std::cout << "FAIL " << subject << failure << "\n";
    for (const std::string& warning : verdict.warnings)
      std::cout << "warning " << subject << warning << "\n";
    if (!verdict.note.empty()) std::cout << "note " << subject << verdict.note << "\n";
    failed += verdict.failures.empty() ? 0 : 1;
    warnings += verdict.warnings.size();
    skipped += verdict.failures.empty() && !verdict.skipped.empty() ? 1 : 0;
  }
  if (!options.junit.empty()) write_output(options.junit, junit_xml(verdicts));
  for (const Share& share : refusing_shares(files)) std::cout << sentence(share) << "\n";
  std::cout << "gate " << (ok ? "passed" : "FAILED") << ": " << files.size()
            << (files.size() == 1 ? " file, " : " files, ") << verdicts.size() << " checked, "
            << failed << " failed, " << skipped << " refused or only built, " << warnings
            << " warnings\n";
  if (ok && !options.write_baseline.empty()) store_baseline(options.write_baseline, fresh);
  if (!right) return check_failed;
  return ok ? done : regression;
}

}  // namespace

void add_gate(CLI::App& program, Context& context) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = program.add_subcommand(
      "gate", "Judges results files: exits with 1 on anything that is not verified as asked");
  command->add_option("files", options->files, "results files")->required();
  command->add_flag("--require-fresh", options->require_fresh,
                    "records whose sources, verification or compiler have changed since fail, "
                    "instead of a warning");
  command->add_option(
      "--tolerance", options->tolerance,
      "caps to hold the errors themselves to, whatever bounds they were verified "
      "by (default: the program's own, to which bounds are held); a config verifies "
      "by such a file with \"policy\": {\"tolerance\": FILE}");
  command->add_option("--junit", options->junit, "write the verdicts as JUnit XML to this file");
  command->add_option(
      "--baseline", options->baseline,
      "errors as they were: one that is above its baseline by more than its spread "
      "over seeds fails, also inside its bound, and so does a candidate that is not "
      "there any more (exit code 3)");
  command->add_flag("--allow-missing", options->missing_allowed,
                    "candidates of the baseline that the files lack are a warning");
  command->add_option("--write-baseline", options->write_baseline,
                      "store the errors of these records and their spread over seeds, where the "
                      "gate passes");
  command->footer(
      "Examples:\n  gla-bench gate results/h200/*.json\n"
      "  gla-bench gate build/ci.json --require-fresh --junit build/gate.xml\n"
      "  gla-bench verify configs/quick.json --seeds 5 -o five.json && "
      "gla-bench gate five.json --write-baseline errors.json");
  command->callback([options, &context] { context.exit_code = judge(*options); });
}

}  // namespace gla_bench::commands
