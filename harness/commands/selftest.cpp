// gla-bench selftest: plants faults, runs them as any candidate is run, and shows which check
// caught each.

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.hpp"
#include "harness/backends/host/machine.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/workers.hpp"
#include "harness/selftest/selftest.hpp"

namespace gla_bench::commands {
namespace {

struct SelftestOptions {
  bool json = false;
  BackendOptions backend;
};

/// Runs every candidate by itself, so that what one of them breaks cannot be blamed on another. The
/// limits are the self-test's own: a hang need not last long, and a candidate that hoards memory
/// need not take much.
WorkConditions conditions_of(const Place& place) {
  WorkConditions conditions;
  conditions.place = place;
  Policy& policy = conditions.settings.policy;
  policy.timing.warmup = 2;
  policy.timing.min_samples = 8;  // with all kinds of inputs among them
  policy.timing.max_samples = 8;
  policy.timing.min_seconds = 0;
  policy.timing.max_seconds = 1;
  policy.limits.least_seconds = 6;
  policy.counters.of = Which::none;
  policy.energy.of = Which::none;
  conditions.rates = rates_or_assumed({}, place.backend);
  if (place.backend == BackendId::host)
    conditions.memory = 0x1p30 + static_cast<double>(CacheFlush::bytes());
  return conditions;
}

std::vector<Assignment> work_of(const Catalog& catalog, BackendId backend) {
  std::vector<Assignment> work;
  for (const Variant& variant : catalog.variants) {
    if (variant.backend != backend) continue;
    Assignment point;
    point.problem = planted::problem(variant.name);
    point.op = catalog.find_operator(point.problem.op);
    point.accepted.push_back({&variant, point.problem, all_tiles(variant.space).front()});
    work.push_back(std::move(point));
  }
  return work;
}

int execute(const SelftestOptions& options) {
  using Clock = std::chrono::steady_clock;
  WorkerCommand command = worker_command(options.backend, Config{});
  command.arguments.emplace_back("--planted");
  Supervisor supervisor;
  const Hello& hello = supervisor.add("selftest", command);
  if (!hello.can_run)
    throw InputError("selftest: nothing can run on " + std::string(name(hello.backend)) +
                     " here: " + fact_text(hello.environment, "device"));
  std::cerr << "planting faults on " << name(hello.backend) << " ("
            << fact_text(hello.environment, "device") << ")\n";
  const auto work = work_of(planted::catalog(), hello.backend);
  std::vector<selftest::Outcome> outcomes;
  auto before = Clock::now();
  RunHooks hooks;
  hooks.record = [&](const Record& record) {
    const auto now = Clock::now();
    outcomes.push_back({record, std::chrono::duration<double>(now - before).count()});
    before = now;
  };
  std::ostringstream expected_trouble;  // crashes and hangs are what is asked for here
  Progress progress(expected_trouble, progress_steps(work, true), {});
  const SupervisedEnd end =
      supervisor.run(work,
                     conditions_of(place_of(hello.backend, hello.limits,
                                            fact_text(hello.environment, "uuid"), options.backend)),
                     hooks, progress);
  progress.finish();
  const auto rows = selftest::judge(hello.backend, outcomes);
  if (options.json)
    std::cout << selftest::to_json(hello.backend, rows).dump(2) << "\n";
  else
    std::cout << selftest::table(rows).text();
  if (end.signal != 0) return signalled + end.signal;
  if (!end.broken.empty()) {
    std::cerr << end.broken << "\n";
    return infrastructure;
  }
  const bool passed = selftest::passed(rows);
  if (!options.json)
    std::cout << (passed ? "every fault was caught by its check, the controls passed\n"
                         : "FAILED: see the rows marked so\n");
  return passed ? done : check_failed;
}

}  // namespace

void add_selftest(CLI::App& program, Context& context) {
  auto options = std::make_shared<SelftestOptions>();
  CLI::App* command = program.add_subcommand(
      "selftest", "Plants faults and shows that each is caught, by which check, and when");
  command->add_flag("--json", options->json, "the table as JSON");
  options->backend.add_to(*command);
  command->footer(
      "Exit code 0 only where every fault was caught by exactly the check that is there for it "
      "and\n"
      "the same candidates without a fault passed.\n"
      "Examples:\n  gla-bench selftest --backend host\n  gla-bench selftest --backend cuda --json");
  command->callback([options, &context] { context.exit_code = execute(*options); });
}

}  // namespace gla_bench::commands
