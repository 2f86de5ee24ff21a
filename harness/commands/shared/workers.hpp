#pragma once
// How the commands start workers, which are processes of this same program.

#include <functional>
#include <string>

#include "harness/commands/commands.hpp"
#include "harness/commands/shared/session.hpp"
#include "harness/workers/supervisor.hpp"

namespace gla_bench::commands {

/// `worker` with these options, on the config's backend where they name none, and with its
/// manifests. Sets OPENBLAS_CORETYPE for what this process starts, where blas_kernels_to_ask_for()
/// names kernels and the variable is not set.
WorkerCommand worker_command(const BackendOptions& options, const Config& config);

/// Adds a worker for the device of the options, or for each of `gpus` ("0,1", "all"; empty: none
/// named): `add` starts one under this label and returns its hello. @throws InputError also for
/// GPUs of different kinds
using AddWorker = std::function<Hello(const std::string& label, const WorkerCommand&)>;
void add_workers(const AddWorker& add, const BackendOptions& options, const Config& config,
                 const std::string& gpus);

/// The threads on which all workers of these options compile, together.
int compile_threads(const BackendOptions& options);

/// Where workers run beside each other.
struct Beside {
  std::string gpus;  ///< as for add_workers()
  /// Workers on the host (backend host, or emulated). 0: two where it has several cores, so that
  /// one computes while threads of the other wait for each other.
  int on_host = 1;
};

/// add_workers() to a supervisor. @throws as it does, WorkerError, InputError for several workers
/// on one GPU
void start_workers(Supervisor& supervisor, const BackendOptions& options, const Config& config,
                   const Beside& beside);

/// Of the host's memory each of so many workers has its share.
void share_memory(Session& session, std::size_t workers);

}  // namespace gla_bench::commands
