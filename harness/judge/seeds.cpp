#include "harness/judge/seeds.hpp"

namespace gla_bench {

Config with_seeds(Config config, int count) {
  std::vector<Sweep> sweeps;
  for (const Sweep& sweep : config.sweeps) {
    const int draws = sweep.tensors || sweep.random ? 1 : count;
    for (int draw = 0; draw < draws; ++draw) {
      sweeps.push_back(sweep);
      sweeps.back().seed += static_cast<std::uint64_t>(draw);
    }
  }
  config.sweeps = std::move(sweeps);
  return config;
}

}  // namespace gla_bench
