// gla-bench repeat: runs one candidate again, in this process. A record's "command" names it.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/config/candidates/candidates.hpp"
#include "harness/config/candidates/describe_function.hpp"
#include "harness/engine/damage.hpp"
#include "harness/engine/run.hpp"
#include "harness/engine/wrong/other_bits.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/record_file.hpp"
#include "harness/records/record_json.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/text/report.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench::commands {
namespace {

struct RepeatOptions {
  std::string row, keep_wrong;
  bool verify_only = false, profile = false, json = false;
  int calls = 0;
  BackendOptions backend;
  CandidateOptions candidates;
};

/// A candidate that is ready to be called.
struct Ready {
  std::unique_ptr<Plan> plan;
  std::unique_ptr<Workset> workset;
};

Ready make_ready(Backend& backend, const Operator& op, const Candidate& candidate) {
  Ready ready{backend.build(candidate),
              backend.stage(op, candidate.problem, inputs_of(op, candidate.problem))};
  ready.plan->prepare(*ready.workset);
  return ready;
}

/// One call and nothing else, inside the range that profilers look at. Another call comes before
/// it, so that nothing is loaded within the range.
void call_once(Backend& backend, const Operator& op, const Candidate& candidate) {
  const auto [plan, workset] = make_ready(backend, op, candidate);
  plan->run();
  poison_before_timing(*workset, *plan);
  backend.profiled([&plan = *plan] { plan.run(); });
  expect_no_damage(candidate, *workset, *plan);
}

/// Many calls with the same inputs. Other bits are an error where the variant promises the same.
int call_often(Backend& backend, const Operator& op, const Candidate& candidate, int calls) {
  const auto [plan, workset] = make_ready(backend, op, candidate);
  const RepeatedCalls result = call_repeatedly(op, candidate, *workset, *plan, calls);
  std::cout << describe(candidate) << "\n";
  for (const OtherBits& other : result.told) std::cout << describe(other) << "\n";
  std::cout << result.calls << " calls with the same inputs: " << result.others
            << " left other bits than the first\n";
  return result.others > 0 && candidate.variant->reproducible ? check_failed : done;
}

Results run_one(Backend& backend, const Candidate& candidate, const RepeatOptions& options,
                const std::string& command_line) {
  Assignment work;
  work.op = find_operator(candidate.problem.op);
  work.problem = candidate.problem;
  work.accepted.push_back(candidate);
  const bool measure = !options.verify_only;
  Results results;
  results.file = options.row;
  results.environment = make_environment(
      backend, command_line, measure ? backend.measure_ceilings() : std::optional<Ceilings>{});
  RunRules plan;
  plan.place = place_of(backend, options.backend);
  plan.measure = measure;
  plan.tolerance = default_tolerance();
  plan.copy_gb_per_s = fact_number(results.environment, "copy_gb_per_s");
  plan.last_level_cache = last_level_cache(results.environment);
  plan.keep_wrong.folder = options.keep_wrong;
  Progress progress(std::cerr, measure ? 2 : 1, stderr_style());
  run(
      backend, std::span(&work, 1), plan,
      [&](const Record& record) { results.records.push_back(record); }, progress);
  progress.finish();
  return results;
}

/// With the variant of the record's manifest, where the options name no other manifest of it.
Catalog catalog_of(const Selection& selection, const CandidateOptions& candidates) {
  Catalog catalog = candidates.catalog();
  const Problem& problem = selection.problem;
  const bool has_variant = catalog.find_variant(problem.op, selection.variant, selection.backend,
                                                problem.direction) != nullptr;
  if (has_variant || selection.manifest.empty()) return catalog;
  return with_manifest(catalog, selection.manifest);
}

int execute(const RepeatOptions& options, const Context& context) {
  Selection selection = read_selection(options.row);
  const auto backend = open_backend(options.backend, selection.backend);
  selection.backend = backend->id();
  if (!backend->can_run()) throw InputError("nothing can run on " + where(*backend) + " here");
  const Catalog catalog = catalog_of(selection, options.candidates);
  if (has_functions(catalog)) become_python(context.arguments, {options.keep_wrong});
  const Candidate candidate = find_candidate(selection, catalog, backend->limits());
  if (options.profile) {
    call_once(*backend, *catalog.find_operator(candidate.problem.op), candidate);
    return done;
  }
  if (options.calls > 0)
    return call_often(*backend, *catalog.find_operator(candidate.problem.op), candidate,
                      options.calls);
  const Results results = run_one(*backend, candidate, options, context.command_line);
  if (results.records.size() != 1) throw RunError(describe(candidate) + ": it has no record");
  const Record& record = results.records.front();
  if (options.json)
    std::cout << record_to_json(record).dump(2) << "\n";
  else
    std::cout << report(std::span(&results, 1), {}) << describe(record) << "\n";
  if (!record.wrong_tensors.empty()) std::cerr << "tensors in " << record.wrong_tensors << "\n";
  return record.status == Status::measured || record.status == Status::verified ? done
                                                                                : check_failed;
}

}  // namespace

void add_repeat(CLI::App& program, Context& context) {
  auto options = std::make_shared<RepeatOptions>();
  CLI::App* command = program.add_subcommand(
      "repeat", "Verifies and measures one recorded candidate again, in this process");
  add_row_option(*command, options->row);
  auto* verify_only = command->add_flag("--verify", options->verify_only, "verification alone");
  auto* json = command->add_flag("--json", options->json, "the record as JSON");
  auto* keep_wrong =
      command->add_option("--keep-wrong", options->keep_wrong,
                          "folder for inputs, outputs and reference where the result is wrong");
  auto* profile = command->add_flag("--profile", options->profile,
                                    "one call and nothing else, marked for a profiler");
  command
      ->add_option("--calls", options->calls,
                   "so many calls with the same inputs, and nothing else: tells which of them left "
                   "other bits than the first, as a race does")
      ->check(CLI::Range(2, 1000000))
      ->excludes(verify_only, json, profile, keep_wrong);
  options->backend.add_to(*command);
  options->backend.add_emulation_to(*command)->needs(verify_only);
  options->candidates.add_to(*command);
  command->footer(
      "Examples:\n  gla-bench repeat results/h200/gla.json#12\n"
      "  gla-bench repeat results/h200/gla.json#12 --verify --emulate\n"
      "  gla-bench repeat run.json#3 --verify --keep-wrong wrong/\n"
      "  gla-bench repeat run.json#3 --calls 10000");
  command->callback([options, &context] { context.exit_code = execute(*options, context); });
}

}  // namespace gla_bench::commands
