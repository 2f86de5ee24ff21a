// The host side of composed.cuh. Products go through cuBLAS. gla, forwards and backwards, and the
// forward's gate are imported.

#include <cstring>
#include <utility>

#include "core/operator.hpp"
#include "kernels/gla_layer/backward/family.hpp"
#include "kernels/gla_layer/inner.hpp"
#include "kernels/gla_layer/layout.h"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

TileSpace space() {
  TileSpace axes = inner_axes(Direction::backward);
  axes.push_back({"tf32", {0, 1}, "1: products of float32 problems in tf32"});
  return axes;
}

KernelLayout layout(const Problem& problem) {
  return {static_cast<int>(problem.shape.key_dim), static_cast<int>(problem.shape.value_dim),
          static_cast<int>(size_of(problem.dtype))};
}

Arithmetic outer_arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "tf32") == 1 ? 1 : 3);
}

Arithmetic arithmetic(const Problem& problem, const Tile& tile) {
  const Arithmetic outer = outer_arithmetic(problem, tile);
  if (problem.dtype != DType::float32 || outer != Arithmetic::float32) return outer;
  for (const auto& inner :
       {outputs_inner_of(BackendId::cuda, problem, tile), inner_of(BackendId::cuda, problem, tile)})
    if (inner && inner->variant->arithmetic(inner->problem, inner->tile) != outer)
      return inner->variant->arithmetic(inner->problem, inner->tile);
  return outer;
}

// In floating point, because the sizes need not make sense.
std::optional<std::string> refuse_grids(const Problem& problem) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  const auto blocks = [&](std::int64_t columns, int per_block) {
    return refuse_blocks(static_cast<double>(n.rows) * static_cast<double>(columns) / per_block +
                         1);
  };
  if (auto reason = blocks(n.keys, sizes.threads * sizes.key_pack)) return reason;
  if (auto reason = blocks(n.model, sizes.threads)) return reason;
  return blocks(n.heads, sizes.units);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  std::vector<Region> list = gradient_description(BackendId::cuda).workspace(problem, tile);
  list.push_back(
      {"gate_sums", static_cast<std::size_t>(float_bytes(problem, extents(problem).keys))});
  return list;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_problem(problem, Direction::backward)) return reason;
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (choice(tile, "tf32") == 1 && problem.dtype != DType::float32)
    return "tf32=1 is for float32: 16-bit inputs gain nothing";
  if (auto reason = refuse_grids(problem)) return reason;
  if (auto reason = refuse_inner(BackendId::cuda, problem, tile, limits)) return reason;
  double bytes = 0;
  for (const Region& region : workspace(problem, tile)) bytes += static_cast<double>(region.bytes);
  return refuse_workspace(bytes, limits);
}

MatrixOperand operand(const char* buffer, DType dtype, std::int64_t ld, bool transposed = false) {
  MatrixOperand result;
  result.buffer = buffer;
  result.dtype = dtype;
  result.ld = ld;
  result.transposed = transposed;
  return result;
}

// Makes the products of a gradient: of the changes of a product's result, [rows, columns].
struct Products {
  std::int64_t rows;
  DType io;
  Arithmetic arithmetic;

  // changes times the transpose of weight [length, columns], into `to` [rows, length].
  MatrixProduct of_input(const char* changes, const char* weight, std::int64_t columns,
                         std::int64_t length, const char* to, DType to_dtype,
                         const char* stage) const {
    MatrixProduct step;
    step.m = rows;
    step.k = columns;
    step.n = length;
    step.a = operand(changes, io, columns);
    step.b = operand(weight, io, columns, true);
    step.c = operand(to, to_dtype, length);
    step.arithmetic = arithmetic;
    step.stage = stage;
    return step;
  }

  // The transpose of left [rows, length] times changes, into the float32 gradient of the weight.
  MatrixProduct of_weight(const char* left, const char* changes, std::int64_t length,
                          std::int64_t columns, const char* to, double factor = 1) const {
    MatrixProduct step;
    step.m = length;
    step.k = rows;
    step.n = columns;
    step.alpha = factor;
    step.a = operand(left, io, length, true);
    step.b = operand(changes, io, columns);
    step.c = operand(to, DType::float32, columns);
    step.arithmetic = arithmetic;
    step.stage = "weights";
    return step;
  }
};

KernelLaunch launch(const char* entry, std::int64_t blocks, int threads, const char* stage) {
  KernelLaunch result{
      entry, {static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(threads), 1, 1}};
  result.stage = stage;
  return result;
}

struct Projection {
  const char *weight, *changes, *gradient;
  std::int64_t columns;
  double factor;
};

// All that follows the backward of gla: the gate's gradients, those of the weights, and dx.
std::vector<Step> weight_steps(const Problem& problem, const Products& products) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  const double factor = option(problem, "gate_divisor") == "1" ? 1 : 1.0 / 16;
  const auto elements = [&](std::int64_t columns, int pack) {
    return ceil_div(n.rows * columns, static_cast<std::int64_t>(sizes.threads) * pack);
  };
  std::vector<Step> list{
      launch("gate_gradients", elements(n.keys, sizes.key_pack), sizes.threads, "weights"),
      products.of_input("dz", "w_2", n.keys, rank, "d_low", problem.dtype, "weights"),
      products.of_weight("low", "dz", rank, n.keys, "dw_2", factor),
      products.of_weight("gated", "dy", n.values, n.model, "dw_o"),
      launch("key_bias", ceil_div(n.keys, column_lanes), column_lanes * column_lanes, "weights"),
      launch("value_bias", ceil_div(n.values, column_lanes), column_lanes * column_lanes,
             "weights")};
  double beta = 0;
  for (const auto& [weight, changes, gradient, columns, share] :
       {Projection{"w_q", "dq", "dw_q", n.keys, 1}, Projection{"w_k", "dk", "dw_k", n.keys, 1},
        Projection{"w_v", "dv", "dw_v", n.values, 1}, Projection{"w_r", "dr", "dw_r", n.values, 1},
        Projection{"w_1", "d_low", "dw_1", rank, factor}}) {
    list.push_back(products.of_weight("x", changes, n.model, columns, gradient, share));
    MatrixProduct part =
        products.of_input(changes, weight, columns, n.model, "dx_sums", DType::float32, "weights");
    part.alpha = share;
    part.beta = std::exchange(beta, 1.0);
    list.push_back(std::move(part));
  }
  list.push_back(launch("input_gradient", elements(n.model, 1), sizes.threads, "weights"));
  return list;
}

// The forward's gate, as it is: a module of its own.
void append_gate(const Problem& problem, const Products& products, Recipe& recipe) {
  const KernelLayout sizes = layout(problem);
  recipe.imports.push_back(
      {"gla_layer/composed.cuh", constants(problem, {}), [problem](const Address& address) {
         const GlaLayerParams p = params(problem, address);
         ParamBytes bytes(sizeof p);
         std::memcpy(bytes.data(), &p, sizeof p);
         return bytes;
       }});
  recipe.steps.push_back(gate_product(problem, products.arithmetic));
  const Extents n = extents(problem);
  KernelLaunch gates =
      launch("gate_activation",
             ceil_div(n.rows * n.keys, static_cast<std::int64_t>(sizes.threads) * sizes.key_pack),
             sizes.threads, "gate");
  gates.module = static_cast<int>(recipe.imports.size());
  recipe.steps.push_back(std::move(gates));
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  const Products products{n.rows, problem.dtype, outer_arithmetic(problem, tile)};
  Recipe r{"gla_layer/backward/composed.cuh", constants(problem, {}),
           projections(problem, products.arithmetic)};
  append_gate(problem, products, r);
  append_inner(outputs_inner_of(BackendId::cuda, problem, tile).value(), r);
  r.steps.push_back(
      products.of_input("dy", "w_o", n.model, n.values, "d_gated", problem.dtype, "norm_gate"));
  r.steps.push_back(launch("norm_gate_gradients", ceil_div(n.rows * n.heads, sizes.units),
                           sizes.threads, "norm_gate"));
  append_inner(inner_of(BackendId::cuda, problem, tile).value(), r);
  for (Step& step : weight_steps(problem, products)) r.steps.push_back(std::move(step));
  return r;
}

}  // namespace

Variant cuda_gradient_variant() {
  Variant v = gradient_description(BackendId::cuda);
  v.space = space();
  v.sources = inner_sources(BackendId::cuda, Direction::backward);
  for (const char* source : {"gla_layer/backward/cuda.cpp", "gla_layer/backward/family.cpp",
                             "gla_layer/backward/composed.cuh", "gla_layer/composed.cuh",
                             "gla_layer/family.cpp", "gla_layer/inner.cpp", "refusal.cpp"})
    v.sources.push_back(source);
  // The sums of the gate, which the kernels before and after gla read.
  v.stages = [all = v.stages](const Problem& problem, const Tile& tile) {
    std::vector<StageTraffic> list = all(problem, tile);
    const double sums = float_bytes(problem, extents(problem).keys);
    list[1].traffic.read_bytes += sums;
    list[1].traffic.write_bytes += sums;
    list[5].traffic.read_bytes += sums;
    return list;
  };
  v.traffic = [all = v.stages](const Problem& problem, const Tile& tile) {
    return sum_of(all(problem, tile));
  };
  v.arithmetic = arithmetic;
  v.reject = reject;
  v.workspace = workspace;
  v.bind = [](const Problem& problem, const Tile&, const Address& address) {
    const GlaLayerGradients p = gradient_params(problem, address);
    ParamBytes bytes(sizeof p);
    std::memcpy(bytes.data(), &p, sizeof p);
    return bytes;
  };
  v.code = recipe;
  return v;
}

}  // namespace gla_bench::gla_layer
