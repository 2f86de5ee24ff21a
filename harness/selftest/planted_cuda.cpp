// Host side of planted.cuh: one launch.

#include "harness/selftest/planted.hpp"
#include "harness/selftest/planted_variant.hpp"

namespace gla_bench::planted {

Variant cuda_variant(Fault fault, std::string_view name) {
  Variant variant = common_variant(fault, name);
  variant.backend = BackendId::cuda;
  variant.sources = {"harness/selftest/planted.cuh"};
  variant.code = [fault](const Problem& problem, const Tile& tile) {
    const Shape& s = problem.shape;
    const std::size_t shared = fault == leftover_memory ? 4096 : 0;
    const auto blocks = static_cast<unsigned>(s.batch * s.heads) * (fault == race ? 2 : 1);
    return Recipe{
        "harness/selftest/planted.cuh",
        {{"planted_fault", "number", fault}, {"tile", "chunk", tile.at("chunk")}},
        {KernelLaunch{
            "planted", {blocks, 1, 1}, {static_cast<unsigned>(s.value_dim), 1, 1}, shared}}};
  };
  return variant;
}

}  // namespace gla_bench::planted
