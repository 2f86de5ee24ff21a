#include "harness/commands/shared/session.hpp"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/engine/resume.hpp"
#include "harness/records/environment.hpp"
#include "harness/verify/verifier_hash.hpp"
#include "harness/workers/process.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench::commands {
namespace {

// The share of the memory that is free when work starts. The rest is left to the parent and the
// system.
constexpr double worker_share_of_memory = 0.95;

RecordFile::Existing existing_of(bool replace) {
  return replace ? RecordFile::Existing::replace : RecordFile::Existing::refuse;
}

}  // namespace

Config load_session_config(const std::string& path, const Catalog& catalog) {
  Config config = load_config(path, catalog);
  tolerance_of(config);  // a bad file is reported before anything starts
  return config;
}

Tolerance tolerance_of(const Config& config) {
  return config.policy.tolerance.empty() ? default_tolerance()
                                         : load_tolerance(config.policy.tolerance);
}

void expect_output(const OutputOptions& output) {
  if (output.path.empty()) return;
  RecordFile::expect_writable(output.path,
                              existing_of(output.resume || output.extend || output.force));
}

RecordFile open_output(const OutputOptions& output, const Config& config, const Facts& environment,
                       const Place& place, Results& results) {
  if (!output.resume)
    return create_run(output.path, environment, config, existing_of(output.force));
  std::string note;
  RecordFile file =
      resume_run(output.path, environment, config, config.catalog, place, results, note);
  if (!note.empty()) std::cerr << "warning: " << note << "\n";
  return file;
}

Session open_session(const Hello& hello, const std::optional<Ceilings>& ceilings,
                     const Config& config, const BackendOptions& options,
                     const std::string& command_line, bool measure) {
  Session session;
  session.environment = hello.environment;
  session.environment["command_line"] = command_line;
  if (ceilings) add_ceilings(session.environment, *ceilings);
  const double copy_rate = fact_number(session.environment, "copy_gb_per_s");
  WorkConditions& conditions = session.conditions;
  conditions.place =
      place_of(hello.backend, hello.limits, fact_text(hello.environment, "uuid"), options);
  conditions.place.verifier_hash = verifier_hashes(hello.backend, tolerance_of(config));
  conditions.settings = {measure, config.policy, copy_rate, last_level_cache(session.environment)};
  conditions.rates = rates_or_assumed(
      {copy_rate, fact_number(session.environment, "matrix_tflop_per_s")}, hello.backend);
  conditions.memory = worker_share_of_memory * conditions.place.host_memory;
  return session;
}

void expect_device(const Hello& hello, const std::string& command) {
  if (!hello.can_run)
    throw InputError(command + ": nothing can run here: " + fact_text(hello.environment, "device"));
}

void finish_output(RecordFile& file, const Config& config, const std::string& why, double seconds,
                   Results& results) {
  results.environment[std::string(wall_seconds)] =
      std::round(1e3 * (fact_number(results.environment, wall_seconds) + seconds)) / 1e3;
  if (why.empty())
    results.environment.erase(std::string(ended_by));
  else
    results.environment[std::string(ended_by)] = why;
  file.finish(results.environment, config_to_json(config));
}

int or_interrupted(const std::function<int()>& work) {
  try {
    return work();
  } catch (const Interrupted& end) {
    std::cout.flush();
    std::cerr << "ended by " << signal_text(end.signal)
              << " before the first candidate; nothing was recorded\n";
    return signalled + end.signal;
  }
}

void print_early_end(const std::string& why, const std::string& path, const std::string& done) {
  std::cout.flush();
  std::cerr << "ended by " << why << ": "
            << (path.empty()
                    ? done + " were tried, and nothing is kept, for no results file was " +
                          "asked for (-o)"
                    : done + " are recorded in " + path + ", --resume goes on with the rest")
            << "\n";
}

}  // namespace gla_bench::commands
