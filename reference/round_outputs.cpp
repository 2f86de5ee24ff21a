#include "reference/round_outputs.hpp"

namespace gla_bench {

void round_outputs(std::span<const TensorSpec> specs, HostTensors& outputs) {
  for (const TensorSpec& spec : specs) {
    if (spec.role != TensorSpec::Role::output || spec.dtype == DType::float32) continue;
    std::vector<float>& values = outputs.at(spec.name);
    const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static) if (count > 65536)
    for (std::int64_t i = 0; i < count; ++i) values[i] = round_to(spec.dtype, values[i]);
  }
}

}  // namespace gla_bench
