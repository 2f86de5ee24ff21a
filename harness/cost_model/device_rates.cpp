#include "harness/cost_model/device_rates.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include "core/error.hpp"

namespace gla_bench::cost_model {
namespace {

/// Of an architecture: "Compute Capabilities" in NVIDIA's CUDA C++ Programming Guide.
struct Multiprocessor {
  double compute_capability;
  double shared_kb, threads;
};
constexpr std::array<Multiprocessor, 9> multiprocessors{{{7.0, 96, 2048},
                                                         {7.5, 64, 1024},
                                                         {8.0, 164, 2048},
                                                         {8.6, 100, 1536},
                                                         {8.7, 164, 1536},
                                                         {8.9, 100, 1536},
                                                         {9.0, 228, 2048},
                                                         {10.0, 228, 2048},
                                                         {12.0, 100, 1536}}};

/// The newest architecture that is not newer than this one.
const Multiprocessor& multiprocessor_of(double compute_capability) {
  const Multiprocessor* best = &multiprocessors.front();
  for (const Multiprocessor& one : multiprocessors)
    if (one.compute_capability <= compute_capability + 1e-6) best = &one;
  return *best;
}

double needed(const Facts& environment, std::string_view key) {
  const double value = fact_number(environment, key);
  if (value > 0) return value;
  throw InputError("no time can be predicted: the environment has no fact \"" + std::string(key) +
                   "\"");
}

}  // namespace

DeviceRates device_rates(const Facts& environment) {
  const std::string capability = fact_text(environment, "compute_capability");
  const Multiprocessor& one =
      multiprocessor_of(capability.empty() ? 0 : std::atof(capability.c_str()));
  DeviceRates rates;
  rates.multiprocessors = needed(environment, "multiprocessors");
  rates.copy_bytes_per_second = 1e9 * needed(environment, "copy_gb_per_s");
  rates.matrix_flops_per_second = 1e12 * needed(environment, "matrix_tflop_per_s");
  rates.last_level_cache = fact_number(environment, "l2_bytes");
  rates.shared_per_multiprocessor = 1024 * one.shared_kb;
  rates.threads_per_multiprocessor = one.threads;
  return rates;
}

Facts completed(Facts environment, const Facts& other) {
  environment.insert(other.begin(), other.end());
  return environment;
}

}  // namespace gla_bench::cost_model
