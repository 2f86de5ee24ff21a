#pragma once
// How the commands start workers, which are processes of this same program.

#include <string>

#include "harness/commands/commands.hpp"
#include "harness/workers/supervisor.hpp"

namespace gla_bench::commands {

/// `worker` with these options, on the config's backend where they name none, and with its
/// manifests.
WorkerCommand worker_command(const BackendOptions& options, const Config& config);

/// One worker for the device of the options, or for each of `gpus` ("0,1", "all"; empty: none
/// named). @throws InputError also for GPUs of different kinds, WorkerError
void start_workers(Supervisor& supervisor, const BackendOptions& options, const Config& config,
                   const std::string& gpus);

}  // namespace gla_bench::commands
