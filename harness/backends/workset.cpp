// Workset functions that download the outputs, for backends without a faster way.

#include <algorithm>
#include <bit>

#include "harness/backends/backend.hpp"
#include "harness/backends/mix.hpp"
#include "harness/backends/poison.hpp"

namespace gla_bench {
std::uint64_t Workset::outputs_fingerprint() {
  std::uint64_t sum = 0, place = 0;
  for (const auto& [name, values] : download_outputs())
    for (const float value : values) sum += mix(std::bit_cast<std::uint32_t>(value) + mix(++place));
  return sum;
}

bool Workset::poison_left() {
  const HostTensors& outputs = download_outputs();
  return std::any_of(outputs.begin(), outputs.end(), [](const auto& output) {
    return std::any_of(output.second.begin(), output.second.end(), is_poison);
  });
}

}  // namespace gla_bench
