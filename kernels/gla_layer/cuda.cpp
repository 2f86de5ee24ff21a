// The host side of composed.cuh and fused.cuh. Products go through cuBLAS, and gla is imported.

#include <cstring>

#include "kernels/gla_layer/inner.hpp"
#include "kernels/gla_layer/launches.hpp"
#include "kernels/gla_layer/variants.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

TileSpace space(Form form) {
  TileSpace axes = inner_axes();
  axes.push_back({"tf32", {0, 1}, "1: products of float32 problems in tf32"});
  if (form == Form::fused)
    axes.push_back({"tokens", {64, 32, 128}, "tokens of a block of the gate's kernel"});
  return axes;
}

// The arithmetic that the products outside gla declare. cuBLAS takes 16-bit operands as they are.
Arithmetic product_arithmetic(const Problem& problem, const Tile& tile) {
  return gla_bench::product_arithmetic(problem, choice(tile, "tf32") == 1 ? 1 : 3);
}

Arithmetic arithmetic(const Problem& problem, const Tile& tile) {
  const Arithmetic outer = product_arithmetic(problem, tile);
  const auto inner = inner_of(BackendId::cuda, problem, tile);
  if (!inner || problem.dtype != DType::float32 || outer != Arithmetic::float32) return outer;
  return inner->variant->arithmetic(inner->problem, inner->tile);
}

double blocks_of(std::int64_t rows, std::int64_t columns, int per_block) {
  return static_cast<double>(rows) * static_cast<double>(columns) / per_block + 1;
}

// The largest number of blocks of a launch, in floating point because the sizes need not make
// sense.
std::optional<std::string> refuse_grids(const Problem& problem) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  if (auto reason = refuse_blocks(blocks_of(n.rows, n.keys, sizes.threads * sizes.key_pack)))
    return reason;
  if (auto reason = refuse_blocks(blocks_of(n.rows, n.heads, sizes.units))) return reason;
  return refuse_blocks(blocks_of(n.rows, n.values, sizes.threads * sizes.value_pack));
}

std::vector<Region> workspace(Form form, const Problem& problem, const Tile& tile) {
  std::vector<Region> list = regions(problem, form);
  if (const auto inner = inner_of(BackendId::cuda, problem, tile))
    for (Region& region : inner_workspace(*inner)) list.push_back(std::move(region));
  return list;
}

std::optional<std::string> refuse_memory(Form form, const Problem& problem, const Tile& tile,
                                         const Limits& limits) {
  double bytes = 0;
  for (const Region& region : workspace(form, problem, tile))
    bytes += static_cast<double>(region.bytes);
  return refuse_workspace(bytes, limits);
}

std::optional<std::string> reject(Form form, const Problem& problem, const Tile& tile,
                                  const Limits& limits) {
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_problem(problem)) return reason;
  if (auto reason = refuse_choice(space(form), tile)) return reason;
  if (choice(tile, "tf32") == 1 && problem.dtype != DType::float32)
    return "tf32=1 is for float32: 16-bit inputs gain nothing";
  if (auto reason = refuse_grids(problem)) return reason;
  if (auto reason = refuse_inner(BackendId::cuda, problem, tile, limits)) return reason;
  return refuse_memory(form, problem, tile, limits);
}

Launches fused_launches(const Problem& problem, const Tile& tile) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  const std::int64_t across = sizes.gate_threads * sizes.gate_columns;
  const std::int64_t gate_blocks =
      ceil_div(n.rows, choice(tile, "tokens")) * ceil_div(n.keys, across);
  return {
      {launch("gate", gate_blocks, sizes.gate_threads, "gate")},
      {launch("norm_gate", ceil_div(n.rows * n.heads, sizes.units), sizes.threads, "norm_gate")}};
}

Recipe recipe(Form form, const Problem& problem, const Tile& tile) {
  const Arithmetic products = product_arithmetic(problem, tile);
  const bool fused = form == Form::fused;
  Recipe r{fused ? "gla_layer/fused.cuh" : "gla_layer/composed.cuh", constants(problem, tile),
           projections(problem, products)};
  const auto append = [&](const std::vector<Step>& steps) {
    r.steps.insert(r.steps.end(), steps.begin(), steps.end());
  };
  const Launches own = fused ? fused_launches(problem, tile) : composed_launches(problem, products);
  append(own.gate);
  append_inner(inner_of(BackendId::cuda, problem, tile).value(), r);
  append(own.norm_gate);
  r.steps.push_back(output_product(problem, products));
  return r;
}

}  // namespace

Variant cuda_variant(Form form) {
  Variant v = description(form, BackendId::cuda);
  v.space = space(form);
  v.sources = inner_sources(BackendId::cuda);
  for (const char* source : {"gla_layer/cuda.cpp", "gla_layer/launches.cpp", "gla_layer/family.cpp",
                             "gla_layer/inner.cpp", "refusal.cpp"})
    v.sources.push_back(source);
  v.sources.push_back("gla_layer/" + v.name + ".cuh");
  v.arithmetic = arithmetic;
  v.reject = [form](const Problem& problem, const Tile& tile, const Limits& limits) {
    return reject(form, problem, tile, limits);
  };
  v.workspace = [form](const Problem& problem, const Tile& tile) {
    return workspace(form, problem, tile);
  };
  v.bind = [](const Problem& problem, const Tile&, const Address& address) {
    const GlaLayerParams p = params(problem, address);
    ParamBytes bytes(sizeof p);
    std::memcpy(bytes.data(), &p, sizeof p);
    return bytes;
  };
  v.code = [form](const Problem& problem, const Tile& tile) { return recipe(form, problem, tile); };
  return v;
}

}  // namespace gla_bench::gla_layer
