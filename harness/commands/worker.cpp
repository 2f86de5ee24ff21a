// gla-bench worker: the process that `run` and `verify` start to do their work in. It is hidden,
// and takes its requests from descriptor 3 (workers/protocol.hpp).

#include "harness/workers/serving/serve.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/config/candidates/describe_function.hpp"
#include "harness/duel/slowed.hpp"
#include "harness/selftest/planted.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench::commands {
namespace {

/// Faults that the worker is asked to show besides its work, to prove that they are noticed.
struct Planted {
  bool faults = false;
  double slowdown = 0;  ///< percent
};

/// What else the parent says of the worker.
struct Standing {
  Planted plant;
  std::vector<std::string> writable;  ///< the folders that it may write to
};

int work(const BackendOptions& options, const CandidateOptions& candidates,
         const Standing& standing, const Context& context) {
  const Planted& plant = standing.plant;
  struct stat descriptor {};
  if (::fstat(protocol_descriptor, &descriptor) != 0 || !S_ISSOCK(descriptor.st_mode))
    throw InputError("worker: is started by `run` and `verify`, not by hand");
  // A function's module may take seconds to import, so that it is asked only once what it is.
  if (has_functions(candidates.manifests)) become_python(context.arguments, standing.writable);
  WorkerSetup setup;
  setup.command_line = context.command_line;
  setup.open = [&] {
    setup.catalog = plant.faults ? planted::catalog() : candidates.catalog();
    if (has_functions(setup.catalog)) {
      ::fcntl(protocol_descriptor, F_SETFD, 0);  // serve() would have it closed
      become_python(context.arguments, standing.writable);
    }
    auto backend = open_backend(options);
    if (plant.faults) return planted::with_cheating_timer(std::move(backend));
    return plant.slowdown > 0 ? slowed(std::move(backend), plant.slowdown / 100)
                              : std::move(backend);
  };
  setup.facts = python_facts;
  setup.place = [&](const Backend& backend) { return place_of(backend, options); };
  return serve(protocol_descriptor, setup);
}

}  // namespace

void add_worker(CLI::App& program, Context& context) {
  auto options = std::make_shared<BackendOptions>();
  CLI::App* command = program.add_subcommand("worker", "Works for `run` and `verify`");
  command->group("");  // not listed
  options->add_to(*command);
  options->add_emulation_to(*command);
  auto candidates = std::make_shared<CandidateOptions>();
  candidates->add_to(*command);
  auto standing = std::make_shared<Standing>();
  command->add_option("--plant-slowdown", standing->plant.slowdown,
                      "times are longer by so many percent");
  command->add_flag("--planted", standing->plant.faults,
                    "with the self-test's faults for variants");
  command
      ->add_option("--writable", standing->writable,
                   "a folder that functions of Python leave writable")
      ->allow_extra_args(false);
  command->callback([options, candidates, standing, &context] {
    context.exit_code = work(*options, *candidates, *standing, context);
  });
}

}  // namespace gla_bench::commands
