#include "harness/commands/shared/session.hpp"

#include <iostream>

#include "core/error.hpp"
#include "harness/engine/resume.hpp"
#include "harness/records/environment.hpp"
#include "harness/verify/verifier_hash.hpp"

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
                       Results& results) {
  if (!output.resume)
    return create_run(output.path, environment, config, existing_of(output.force));
  std::string note;
  RecordFile file = resume_run(output.path, environment, config, results, note);
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
  conditions.place.verifier_hash = verifier_hash(hello.backend, tolerance_of(config));
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

void print_early_end(const std::string& why, bool kept, const std::string& resume) {
  std::cout.flush();
  std::cerr << why << (kept ? "; what is recorded is kept, --resume goes on with " + resume : "")
            << "\n";
}

}  // namespace gla_bench::commands
