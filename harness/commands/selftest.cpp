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
#include "harness/selftest/exploits/exploits.hpp"
#include "harness/selftest/planted.hpp"
#include "harness/selftest/selftest.hpp"
#include "harness/support/system/temporary_folder.hpp"

namespace gla_bench::commands {
namespace {

struct SelftestOptions {
  bool json = false;
  bool functions = false;
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

/// A catalog's variants of these names, each on its problem.
std::vector<Assignment> work_of(const Catalog& catalog, BackendId backend,
                                std::span<const selftest::Expected> expected,
                                const std::function<Problem(std::string_view)>& problem_of) {
  std::vector<Assignment> work;
  for (const selftest::Expected& each : expected) {
    Assignment point;
    point.problem = problem_of(each.name);
    point.op = catalog.find_operator(point.problem.op);
    const Variant* variant =
        catalog.find_variant(point.problem.op, each.name, backend, Direction::forward);
    point.accepted.push_back({variant, point.problem, all_tiles(variant->space).front()});
    work.push_back(std::move(point));
  }
  return work;
}

/// The self-test, in parts that have workers of their own.
class Parts {
 public:
  explicit Parts(const SelftestOptions& options) : options_(options) {}

  /// Runs the program's own catalog of faults.
  void plant() {
    WorkerCommand command = worker_command(options_.backend, Config{});
    command.arguments.emplace_back("--planted");
    Supervisor supervisor;
    start(supervisor, "selftest", command);
    const auto expected = planted::expected(backend_);
    const Catalog catalog = planted::catalog();
    run(supervisor, expected, work_of(catalog, backend_, expected, planted::problem));
  }

  /// Brings in what comes from outside. Returns why nothing could.
  std::string bring_in(exploits::Way way) {
    const auto expected = exploits::expected(way, backend_);
    if (expected.empty() || ended()) return "";
    const TemporaryFolder folder;
    Config config;
    config.candidates = exploits::write_manifests(way, backend_, folder.path().string());
    const Catalog catalog = CandidateOptions{config.candidates}.catalog();
    Supervisor supervisor;
    try {
      start(supervisor, "selftest from outside", worker_command(options_.backend, config));
    } catch (const std::runtime_error& error) {
      if (way == exploits::Way::function) return error.what();
      throw;
    }
    if (way == exploits::Way::function && !has_framework())
      return "Python has no " + std::string(exploits::framework(backend_));
    run(supervisor, expected,
        work_of(catalog, backend_, expected, [](std::string_view) { return exploits::problem(); }));
    return "";
  }

  BackendId backend() const { return backend_; }
  const std::vector<selftest::Row>& rows() const { return rows_; }
  const SupervisedEnd& end() const { return end_; }
  bool ended() const { return end_.signal != 0 || !end_.broken.empty(); }

 private:
  bool has_framework() const {
    return environment_.count(std::string(exploits::framework(backend_))) > 0;
  }

  void start(Supervisor& supervisor, const std::string& what, const WorkerCommand& command) {
    const Hello& hello = supervisor.add(what, command);
    const std::string device = fact_text(hello.environment, "device");
    if (!hello.can_run)
      throw InputError("selftest: nothing can run on " + std::string(name(hello.backend)) +
                       " here: " + device);
    if (rows_.empty())
      std::cerr << "planting faults on " << name(hello.backend) << " (" << device << ")\n";
    backend_ = hello.backend;
    environment_ = hello.environment;
    place_ =
        place_of(backend_, hello.limits, fact_text(hello.environment, "uuid"), options_.backend);
  }

  void run(Supervisor& supervisor, std::span<const selftest::Expected> expected,
           const std::vector<Assignment>& work) {
    using Clock = std::chrono::steady_clock;
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
    end_ = supervisor.run(work, conditions_of(place_), hooks, progress);
    progress.finish();
    for (selftest::Row& row : selftest::judge(expected, outcomes)) rows_.push_back(std::move(row));
  }

  const SelftestOptions& options_;
  BackendId backend_ = BackendId::host;
  Place place_;
  Facts environment_;  // of the last worker
  std::vector<selftest::Row> rows_;
  SupervisedEnd end_;
};

int execute(const SelftestOptions& options) {
  Parts parts(options);
  parts.plant();
  parts.bring_in(exploits::Way::kernel);
  const std::string no_functions = parts.bring_in(exploits::Way::function);
  if (!no_functions.empty() && options.functions) throw InputError(no_functions);
  if (options.json)
    std::cout << selftest::to_json(parts.backend(), parts.rows()).dump(2) << "\n";
  else
    std::cout << selftest::table(parts.rows()).text();
  if (parts.end().signal != 0) return signalled + parts.end().signal;
  if (!parts.end().broken.empty()) {
    std::cerr << parts.end().broken << "\n";
    return infrastructure;
  }
  if (!no_functions.empty())
    std::cerr << "functions of Python were not brought in: " << no_functions << "\n";
  const bool passed = selftest::passed(parts.rows());
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
  command->add_flag("--functions", options->functions,
                    "an error where functions of Python cannot be brought in");
  options->backend.add_to(*command);
  command->footer(
      "Exit code 0 only where every fault was caught by exactly the check that is there for it "
      "and\n"
      "the same candidates without a fault passed.\n"
      "Examples:\n  gla-bench selftest --backend host\n  gla-bench selftest --backend cuda --json");
  command->callback([options, &context] { context.exit_code = execute(*options); });
}

}  // namespace gla_bench::commands
