// The host side of composed.cuh. Products go through cuBLAS. gla, forwards and backwards, and what
// the forward has of its own are imported: in a backward its gate, in training all of it.

#include <cstring>
#include <utility>

#include "core/operator.hpp"
#include "kernels/gla_layer/backward/family.hpp"
#include "kernels/gla_layer/inner.hpp"
#include "kernels/gla_layer/launches.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

TileSpace space(Direction direction) {
  TileSpace axes = inner_axes(direction);
  axes.push_back({"tf32", {0, 1}, "1: products of float32 problems in tf32"});
  return axes;
}

Arithmetic outer_arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "tf32") == 1 ? 1 : 3);
}

Arithmetic arithmetic(const Problem& problem, const Tile& tile) {
  const Arithmetic outer = outer_arithmetic(problem, tile);
  if (problem.dtype != DType::float32 || outer != Arithmetic::float32) return outer;
  for (const Inner& inner : inners_of(BackendId::cuda, problem, tile))
    if (inner.variant->arithmetic(inner.problem, inner.tile) != outer)
      return inner.variant->arithmetic(inner.problem, inner.tile);
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
  if (auto reason = blocks(n.values, sizes.threads * sizes.value_pack)) return reason;
  if (auto reason = blocks(n.model, sizes.threads)) return reason;
  return blocks(n.heads, sizes.units);
}

// All but the size of the workspace.
std::optional<std::string> reject(Direction direction, const Problem& problem, const Tile& tile,
                                  const Limits& limits) {
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_problem(problem, direction)) return reason;
  if (auto reason = refuse_choice(space(direction), tile)) return reason;
  if (choice(tile, "tf32") == 1 && problem.dtype != DType::float32)
    return "tf32=1 is for float32: 16-bit inputs gain nothing";
  if (auto reason = refuse_grids(problem)) return reason;
  return refuse_inner(BackendId::cuda, problem, tile, limits);
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

Products products_of(const Problem& problem, const Tile& tile) {
  return {extents(problem).rows, problem.dtype, outer_arithmetic(problem, tile)};
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

// The forward's kernels, as they are: a module of their own. Returns its number.
int append_forward_module(const Problem& problem, Recipe& recipe) {
  recipe.imports.push_back(
      {"gla_layer/composed.cuh", constants(problem, {}), [problem](const Address& address) {
         const GlaLayerParams p = params(problem, address);
         ParamBytes bytes(sizeof p);
         std::memcpy(bytes.data(), &p, sizeof p);
         return bytes;
       }});
  return static_cast<int>(recipe.imports.size());
}

void append_of_module(int module, std::vector<Step> steps, Recipe& recipe) {
  for (Step& step : steps) {
    if (auto* launch = std::get_if<KernelLaunch>(&step)) launch->module = module;
    recipe.steps.push_back(std::move(step));
  }
}

void append_gradients_before_gla(const Problem& problem, const Products& products, Recipe& recipe) {
  const Extents n = extents(problem);
  const KernelLayout sizes = layout(problem);
  recipe.steps.push_back(
      products.of_input("dy", "w_o", n.model, n.values, "d_gated", problem.dtype, "norm_gate"));
  recipe.steps.push_back(launch("norm_gate_gradients", ceil_div(n.rows * n.heads, sizes.units),
                                sizes.threads, "norm_gate"));
}

void append_gradients_behind_gla(const Problem& problem, const Products& products, Recipe& recipe) {
  for (Step& step : weight_steps(problem, products)) recipe.steps.push_back(std::move(step));
}

Recipe backward_recipe(const Problem& problem, const Tile& tile) {
  const Products products = products_of(problem, tile);
  Recipe r{"gla_layer/backward/composed.cuh", constants(problem, {}),
           projections(problem, products.arithmetic)};
  const int module = append_forward_module(problem, r);
  append_of_module(module, composed_launches(problem, products.arithmetic).gate, r);
  append_inner(outputs_inner_of(BackendId::cuda, problem, tile).value(), r);
  append_gradients_before_gla(problem, products, r);
  append_inner(inner_of(BackendId::cuda, problem, tile).value(), r);
  append_gradients_behind_gla(problem, products, r);
  return r;
}

// The steps from `first` on are of one pass.
void name_pass(std::size_t first, std::string_view pass, Recipe& recipe) {
  for (std::size_t i = first; i < recipe.steps.size(); ++i)
    std::visit([&](auto& step) { step.stage = pass; }, recipe.steps[i]);
}

Recipe training_recipe(const Problem& problem, const Tile& tile) {
  const Products products = products_of(problem, tile);
  const Launches forward = composed_launches(problem, products.arithmetic);
  const Inner inner = inner_of(BackendId::cuda, problem, tile).value();
  Recipe r{"gla_layer/backward/composed.cuh", constants(problem, {}),
           projections(problem, products.arithmetic)};
  const int module = append_forward_module(problem, r);
  append_of_module(module, forward.gate, r);
  const int modules_of_gla = append_inner_modules(inner, r);
  append_inner_pass(inner, "forward", modules_of_gla, r);
  append_of_module(module, forward.norm_gate, r);
  r.steps.push_back(output_product(problem, products.arithmetic));
  name_pass(0, "forward", r);
  const std::size_t first_of_backward = r.steps.size();
  append_gradients_before_gla(problem, products, r);
  append_inner_pass(inner, "backward", modules_of_gla, r);
  append_gradients_behind_gla(problem, products, r);
  name_pass(first_of_backward, "backward", r);
  return r;
}

}  // namespace

Variant cuda_gradient_variant(Direction direction) {
  const bool trains = direction == Direction::training;
  Variant v = gradient_description(BackendId::cuda, direction);
  v.space = space(direction);
  v.sources = inner_sources(BackendId::cuda, direction);
  for (const char* source :
       {"gla_layer/backward/cuda.cpp", "gla_layer/backward/family.cpp",
        "gla_layer/backward/composed.cuh", "gla_layer/composed.cuh", "gla_layer/launches.cpp",
        "gla_layer/family.cpp", "gla_layer/inner.cpp", "refusal.cpp"})
    v.sources.push_back(source);
  v.arithmetic = arithmetic;
  v.reject = [direction, workspace = v.workspace](const Problem& problem, const Tile& tile,
                                                  const Limits& limits) {
    if (auto reason = reject(direction, problem, tile, limits)) return reason;
    double bytes = 0;
    for (const Region& region : workspace(problem, tile))
      bytes += static_cast<double>(region.bytes);
    return refuse_workspace(bytes, limits);
  };
  v.bind = [](const Problem& problem, const Tile&, const Address& address) {
    const GlaLayerGradients p = gradient_params(problem, address);
    ParamBytes bytes(sizeof p);
    std::memcpy(bytes.data(), &p, sizeof p);
    return bytes;
  };
  if (trains)
    v.code = training_recipe;
  else
    v.code = backward_recipe;
  return v;
}

}  // namespace gla_bench::gla_layer
