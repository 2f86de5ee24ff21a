#include "kernels/linear_recurrence/backward/chunk/chunk.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"

namespace gla_bench::linear_recurrence {
namespace {

/// Bytes of an operand of the products (Ops in tokens.cuh).
int element_bytes(const Problem& problem) {
  return flag(problem, "normalize") ? 4 : operand_bytes(problem);
}

double piece_blocks(const Problem& problem, const Tile& tile, const ChunkGradientLayout& layout) {
  return static_cast<double>(chunk_slots(problem, choice(tile, "chunk"))) *
         static_cast<double>(layout.slices);
}

}  // namespace

TileSpace chunk_gradient_space() {
  return {{"chunk", {64, 32}, "tokens between states in device memory"},
          {"block_k", {32, 64}, "rows of the state that a block owns"},
          {"panel", {64, 32}, "columns of v, do and the states in shared memory at a time"},
          {"terms", {1, 3}, "tf32 products per float32 product: 1 is tf32, 3 close to float32"}};
}

ChunkGradientLayout chunk_gradient_layout(const Problem& problem, const Tile& tile,
                                          Outside outside) {
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(host::columns(problem)),
          element_bytes(problem),
          choice(tile, "chunk"),
          choice(tile, "block_k"),
          choice(tile, "panel"),
          outside == Outside::kept_change,
          outside == Outside::others};
}

double chunk_state_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunk_slots(problem, choice(tile, "chunk"))) *
         stored_state_bytes(problem);
}

std::optional<std::string> refuse_chunk_gradients(const Problem& problem, const Tile& tile,
                                                  const ChunkGradientLayout& layout,
                                                  const std::vector<Region>& regions,
                                                  const GradientSums& sums, const Limits& limits) {
  if (auto reason = refuse_terms(problem, choice(tile, "terms"))) return reason;
  if (layout.block_k > 32 && layout.block_k / 2 >= layout.key_dim)
    return "half of block_k=" + std::to_string(layout.block_k) + " already covers key_dim";
  if (layout.panel > 32 && layout.panel / 2 >= layout.width)
    return "half of panel=" + std::to_string(layout.panel) + " already covers the columns";
  if (auto reason = refuse_shared(layout.shared_bytes, limits)) return reason;
  if (auto reason = refuse_blocks(piece_blocks(problem, tile, layout))) return reason;
  return refuse_gradients(problem, regions, sums, limits);
}

std::optional<std::string> refuse_given_states(const Problem& problem, States states) {
  if (states == States::formed || !flag(problem, "normalize")) return std::nullopt;
  return "the states that it is given have no normalizers";
}

double chunk_gradient_flops(const Problem& problem, const Tile& tile) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = host::columns(problem);
  const auto c =
      static_cast<double>(std::min<std::int64_t>(choice(tile, "chunk"), problem.shape.seq));
  const auto slices = static_cast<double>(ceil_div(problem.shape.key_dim, choice(tile, "block_k")));
  return host::tokens(problem) * (8 * k * v + (c + 1) * (3 * k + (1 + slices) * v));
}

Recipe chunk_gradient_recipe(std::string source, const Problem& problem, const Tile& tile,
                             const ChunkGradientLayout& layout, const std::vector<Region>& regions,
                             const GradientSums& sums) {
  Recipe recipe{std::move(source), constants(problem, tile), {}};
  for (const Constant& constant : gradient_constants(regions, sums))
    recipe.constants.push_back(constant);
  recipe.constants.push_back({"launch", "kept_change", layout.kept_change});
  recipe.constants.push_back({"launch", "meets_others", layout.meets_others});
  recipe.constants.push_back({"launch", "shared_bytes", layout.shared_bytes});
  return recipe;
}

std::vector<Step> chunk_output_steps(const Problem& problem, const Tile& tile,
                                     const ChunkGradientLayout& layout) {
  std::vector<Step> steps = output_gradient_steps(problem);
  if (!steps.empty())
    steps.insert(steps.begin(),
                 gradient_launch("chunk_gradient_outputs", piece_blocks(problem, tile, layout),
                                 layout.threads, layout.shared_bytes));
  return steps;
}

double chunk_output_reads(const Problem& problem, const Tile& tile) {
  if (!flag(problem, "normalize")) return 0.0;
  return host::token_reads(problem) + value_bytes(problem) + chunk_state_bytes(problem, tile);
}

Arithmetic chunk_gradient_arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "terms"));
}

}  // namespace gla_bench::linear_recurrence
