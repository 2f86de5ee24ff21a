#pragma once
// Runs a kernel's text by emulation, for tests of the emulator.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "harness/backends/emulated/kernels.hpp"
#include "harness/backends/emulated/threads.hpp"
#include "harness/backends/sources/source_store.hpp"

namespace gla_bench::emulated {

struct TextRun {
  std::string before = "";        ///< text before the kernel
  unsigned cluster = 1;           ///< blocks of a cluster, of which there are two
  unsigned threads = 32;          ///< of a block
  std::size_t shared_bytes = 64;  ///< of the launch
  bool device_functions = false;  ///< whether `before` may include what lies in kernels/
};

/// What two blocks with this body, or two clusters, end with: an error's text, or "none".
inline std::string outcome_of(const std::string& body, const TextRun& run = {}) {
  static Compiler compiler("", 1);
  const std::string clusters =
      run.cluster > 1 ? "__cluster_dims__(" + std::to_string(run.cluster) + ", 1, 1)\n" : "";
  const auto texts = std::make_shared<std::map<std::string, std::string>>();
  if (run.device_functions)
    for (const Source& source : embedded_sources())
      (*texts)[std::string(source.path)] = source.text;
  (*texts)["k.cuh"] = run.before + "extern \"C\" __global__ void " + clusters +
                      "__launch_bounds__(" + std::to_string(run.threads) + ", (1)) k() {\n" + body +
                      "\n}\n";
  const std::size_t own = std::hash<std::string>{}((*texts)["k.cuh"]);
  const Unit unit{"k.cuh", "// " + std::to_string(own) + "\n#include \"k.cuh\"\n", texts};
  try {
    const KernelsPtr kernels = compiler.get(unit);
    EXPECT_EQ(kernels->cluster("k"), run.cluster);
    // Whoever takes it for its own afterwards crashes.
    struct Forgotten {
      Exchange& exchange;
      ~Forgotten() { exchange.runtime = nullptr; }
    } const forgotten{kernels->exchange()};
    auto* const kernel = reinterpret_cast<void (*)()>(kernels->entry("k"));
    run_grid(
        {{2 * run.cluster, 1, 1}, {run.threads, 1, 1}, run.shared_bytes, 0, kernels->cluster("k")},
        kernels->exchange(), [&] { kernel(); });
  } catch (const RunError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace gla_bench::emulated
