// gla-bench info: what there is to run on.

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/backends/devices.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/commands/commands.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench::commands {
namespace {

void print(const std::string& key, const std::string& value) {
  std::cout << "  " << std::left << std::setw(26) << key << value << "\n";
}

void print_backend(Backend& backend, bool measure) {
  std::cout << name(backend.id()) << (backend.can_run() ? "" : " (can compile, not run)") << "\n";
  for (const auto& [key, value] : backend.environment()) print(key, value);
  if (const auto clock = backend.clock_mhz()) print("clock_mhz", std::to_string(*clock));
  if (!measure || !backend.can_run()) return;
  if (const auto ceilings = backend.measure_ceilings()) {
    std::cout << "  measured now: copy " << format_rate(ceilings->copy_gb_per_s)
              << " GB/s, matrix products " << format_rate(ceilings->matrix_tflop_per_s)
              << " TFLOP/s (" << ceilings->matrix << ")";
    if (ceilings->least_call_us > 0)
      std::cout << ", a cold call of next to nothing " << format_short(ceilings->least_call_us)
                << " us";
    std::cout << "\n";
  }
}

/// What the output of scripts/source_hashes.py is compared with, and where it takes the lists of
/// sources from.
void print_source_hashes(const std::string& kernels) {
  SourceHashes hashes{kernels.empty() ? SourceStore() : SourceStore(kernels)};
  nlohmann::ordered_json json;
  for (const std::string& path : hashes.store().paths())
    json["sources"][path] = hashes.of_source(path);
  for (const Variant& variant : variants())
    json["variants"].push_back({{"operator", variant.op},
                                {"variant", variant.name},
                                {"backend", name(variant.backend)},
                                {"direction", name(variant.direction)},
                                {"source_hash", hashes.of(variant)},
                                {"sources", variant.sources}});
  std::cout << json.dump(1) << "\n";
}

void info(const BackendOptions& options, bool quick) {
  std::cout << "gla-bench " << program_version() << "\n  CUDA: " << cuda_build_description()
            << "\n";
  for (const auto& [library, place] : cuda_libraries()) print(library, place);
  const bool only_host = options.backend == "host", only_cuda = options.backend == "cuda";
  if (!only_cuda) print_backend(*make_host_backend(options.host), !quick);
  if (only_host) return;
  if (const auto cuda = make_cuda_backend(options.cuda)) print_backend(*cuda, !quick);
}

}  // namespace

void add_info(CLI::App& program, Context&) {
  auto options = std::make_shared<BackendOptions>();
  auto quick = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand(
      "info", "Devices, toolkit, driver, and the ceilings measured on the spot");
  options->add_to(*command);
  command->add_flag("--quick", *quick, "do not measure the ceilings");
  auto source_hashes = std::make_shared<bool>(false);
  command->add_flag("--source-hashes", *source_hashes,
                    "print, as JSON, each variant's sources and the hash of their code");
  command->footer("Examples:\n  gla-bench info\n  gla-bench info --backend cuda --device 1");
  command->callback([options, quick, source_hashes] {
    if (*source_hashes)
      print_source_hashes(options->cuda.source_dir);
    else
      info(*options, *quick);
  });
}

}  // namespace gla_bench::commands
