#include "harness/commands/shared/workers.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "core/error.hpp"
#include "harness/backends/gpu_list.hpp"
#include "harness/backends/host/machine.hpp"

namespace gla_bench::commands {
namespace {

int cores() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// A GPU's worker, which may take its share of the cores to compile.
BackendOptions on_gpu(BackendOptions options, int gpu, std::size_t gpus) {
  options.backend = "cuda";
  options.cuda.device = gpu;
  if (options.cuda.compile_threads == 0)
    options.cuda.compile_threads = std::max(1, cores() / static_cast<int>(gpus));
  return options;
}

}  // namespace

int compile_threads(const BackendOptions& options) {
  return options.cuda.compile_threads > 0 ? options.cuda.compile_threads : cores();
}

WorkerCommand worker_command(const BackendOptions& options, const Config& config) {
  // Workers' OpenBLAS reads this once. What it chose is in their records' environment.
  if (const auto kernels = blas_kernels_to_ask_for())
    ::setenv(blas_kernels_variable, kernels->c_str(), 0);
  BackendOptions given = options;
  if (given.backend.empty() && config.backend) given.backend = name(*config.backend);
  WorkerCommand command{this_program(), {"worker"}};
  for (std::string& argument : given.arguments()) command.arguments.push_back(std::move(argument));
  for (std::string& argument : candidate_arguments(config.candidates))
    command.arguments.push_back(std::move(argument));
  if (const std::string& folder = config.policy.keep_wrong.folder; !folder.empty())
    command.arguments.insert(command.arguments.end(), {"--writable", folder});
  return command;
}

void add_workers(const AddWorker& add_one, const BackendOptions& options, const Config& config,
                 const std::string& gpus) {
  if (gpus.empty()) {
    add_one("worker", worker_command(options, config));
    return;
  }
  if (options.backend == "host") throw InputError("--gpus: the backend host has none");
  std::vector<int> list = parse_gpus(gpus);
  const auto add = [&](int gpu, std::size_t count) {
    return add_one("GPU " + std::to_string(gpu),
                   worker_command(on_gpu(options, gpu, count), config));
  };
  const Hello first = add(list.empty() ? 0 : list.front(), std::max<std::size_t>(1, list.size()));
  if (!first.can_run)
    throw InputError("--gpus: there is none to run on: " + fact_text(first.environment, "device"));
  if (list.empty())
    for (int gpu = 0; gpu < first.devices; ++gpu) list.push_back(gpu);
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Hello other = add(list[i], list.size());
    const std::string here = fact_text(first.environment, "device");
    const std::string there = fact_text(other.environment, "device");
    if (here != there)
      throw InputError("--gpus: GPU " + std::to_string(list[i]) + " is \"" + there + "\", GPU " +
                       std::to_string(list.front()) + " is \"" + here +
                       "\": one results file is of one kind of device");
  }
}

void start_workers(Supervisor& supervisor, const BackendOptions& options, const Config& config,
                   const Beside& beside) {
  // A thread that waits leaves its core to the other workers. Their OpenMP reads this once.
  if (beside.on_host != 1) ::setenv("OMP_WAIT_POLICY", "passive", 0);
  add_workers([&](const std::string& label,
                  const WorkerCommand& command) { return supervisor.add(label, command); },
              options, config, beside.gpus);
  const bool on_host = supervisor.hello().backend == BackendId::host || options.emulate;
  if (beside.on_host > 1 && !on_host)
    throw InputError("--workers: found " + std::to_string(beside.on_host) +
                     " for the backend cuda, expected 1 there, or --backend host or --emulate");
  const int wanted = beside.on_host > 0 ? beside.on_host : on_host && cores() > 1 ? 2 : 1;
  for (int i = 1; i < wanted; ++i)
    supervisor.add("worker " + std::to_string(i + 1), worker_command(options, config));
}

void share_memory(Session& session, std::size_t count) {
  const auto workers = static_cast<double>(count);
  session.conditions.memory /= workers;
  session.conditions.place.host_memory /= workers;
}

}  // namespace gla_bench::commands
