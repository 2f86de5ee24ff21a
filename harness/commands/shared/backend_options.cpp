#include <memory>

#include "core/error.hpp"
#include "harness/backends/emulated/backend.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/commands/commands.hpp"
#include "harness/config/sweep.hpp"
#include "harness/verify/verifier_hash.hpp"

namespace gla_bench::commands {

void BackendOptions::add_to(CLI::App& command) {
  command
      .add_option("--backend", backend,
                  "where to run: auto (the GPU where there is one, else the host), host or cuda "
                  "(default: as the config says)")
      ->check(CLI::IsMember({"auto", "host", "cuda"}));
  command.add_option("--device", cuda.device, "number of the CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--threads", host.threads, "threads of the host backend (0: all cores)")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command
      .add_option("--compile-threads", cuda.compile_threads,
                  "threads that compile kernels (0: all cores)")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_option("--cache-dir", cuda.cache_dir,
                     "folder of compiled kernels (default: the user's cache folder)");
  command
      .add_option("--kernels", cuda.source_dir,
                  "read kernel sources from this kernels/ folder instead of from the program")
      ->check(CLI::ExistingDirectory);
}

CLI::Option* BackendOptions::add_emulation_to(CLI::App& command) {
  return command.add_flag(
      "--emulate", emulate,
      "run CUDA candidates on the host, thread by thread, as a GPU of sm_90a would: it takes "
      "the host's compiler and the CUDA toolkit's headers, and no GPU");
}

void add_row_option(CLI::App& command, std::string& row) {
  command
      .add_option("row", row,
                  "FILE#ROW, a record of a results file counted from 1, or what a record's "
                  "\"command\" has")
      ->required();
}

std::unique_ptr<Backend> open_backend(const BackendOptions& options,
                                      std::optional<BackendId> configured) {
  std::optional<BackendId> wanted = configured;
  if (!options.backend.empty()) wanted = parse_backend(options.backend);  // "auto" gives nothing
  if (options.emulate) {
    if (!options.backend.empty() && wanted != BackendId::cuda)
      throw InputError("--emulate stands for a GPU: found --backend " + options.backend +
                       ", expected --backend cuda or none");
    return make_emulated_backend(options.cuda);
  }
  if (wanted == BackendId::host) return make_host_backend(options.host);
  auto cuda = make_cuda_backend(options.cuda);
  if (wanted == BackendId::cuda) {
    if (!cuda)
      throw InputError("the backend cuda is not in this program: " + cuda_build_description());
    return cuda;
  }
  if (cuda && cuda->can_run()) return cuda;
  return make_host_backend(options.host);
}

std::vector<std::string> BackendOptions::arguments() const {
  std::vector<std::string> list{"--device",          std::to_string(cuda.device),
                                "--threads",         std::to_string(host.threads),
                                "--compile-threads", std::to_string(cuda.compile_threads)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) list.insert(list.end(), {option, value});
  };
  add("--backend", backend);
  add("--cache-dir", cuda.cache_dir);
  add("--kernels", cuda.source_dir);
  if (emulate) list.emplace_back("--emulate");
  return list;
}

Place place_of(const Backend& backend, const BackendOptions& options) {
  const Environment environment = backend.environment();
  const auto uuid = environment.find("uuid");
  return place_of(backend.id(), backend.limits(), uuid == environment.end() ? "" : uuid->second,
                  options);
}

Place place_of(BackendId backend, const Limits& limits, const std::string& device,
               const BackendOptions& options) {
  Place place;
  place.backend = backend;
  place.limits = limits;
  place.device = device;
  place.host_memory = available_host_memory();
  // The sources that are compiled are the program's own, or those of the folder.
  auto hashes = std::make_shared<SourceHashes>(
      options.cuda.source_dir.empty() ? SourceStore() : SourceStore(options.cuda.source_dir));
  place.source_hash = [hashes = std::move(hashes)](const Variant& variant) {
    return hashes->of(variant);
  };
  place.verifier_hash = verifier_hashes(backend, default_tolerance());
  return place;
}

std::string where(const Backend& backend) {
  std::string text(name(backend.id()));
  const Environment environment = backend.environment();
  const auto device = environment.find("device");
  if (device != environment.end()) text += " (" + device->second + ")";
  return text;
}

}  // namespace gla_bench::commands
