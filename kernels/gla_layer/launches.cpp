#include "kernels/gla_layer/launches.hpp"

#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {

KernelLayout layout(const Problem& problem) {
  return {static_cast<int>(problem.shape.key_dim), static_cast<int>(problem.shape.value_dim),
          static_cast<int>(size_of(problem.dtype))};
}

KernelLaunch launch(const char* entry, std::int64_t blocks, int threads, const char* stage) {
  KernelLaunch result{
      entry, {static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(threads), 1, 1}};
  result.stage = stage;
  return result;
}

Launches composed_launches(const Problem& problem, Arithmetic arithmetic) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  const auto packs = [&](std::int64_t elements, int pack) {
    return ceil_div(elements, static_cast<std::int64_t>(sizes.threads) * pack);
  };
  const std::int64_t value_blocks = packs(n.rows * n.values, sizes.value_pack);
  return {
      {gate_product(problem, arithmetic),
       launch("gate_activation", packs(n.rows * n.keys, sizes.key_pack), sizes.threads, "gate")},
      {launch("output_gate", value_blocks, sizes.threads, "norm_gate"),
       launch("layer_norm", ceil_div(n.rows * n.heads, sizes.units), sizes.threads, "norm_gate"),
       launch("multiply", value_blocks, sizes.threads, "norm_gate")}};
}

}  // namespace gla_bench::gla_layer
