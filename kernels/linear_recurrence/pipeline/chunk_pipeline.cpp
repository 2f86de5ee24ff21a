// Host side of chunk_pipeline.cuh: five launches, with every intermediate result in device memory.

#include <algorithm>
#include <limits>

#include "kernels/linear_recurrence/chunk/walk.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/pipeline/layout.h"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"chunk", {16, 32, 64}, "tokens of a chunk (BT)"},
          {"block_k", {64, 128, 32, 16}, "keys of a block (BK)"},
          {"block_v", {64, 128, 32, 16}, "columns of V of a block (BV)"},
          {"stages", {2, 1}, "chunks in shared memory during the walk"},
          {"terms", {1, 3}, "tf32 products per float32 product: 1 is tf32, 3 close to float32"}};
}

PipelineLayout layout(const Problem& problem, const Tile& tile) {
  const bool bfloat16 = problem.dtype == DType::bfloat16 && problem.shape.key_dim >= 16;
  return {{static_cast<int>(problem.shape.key_dim), static_cast<int>(problem.shape.value_dim),
           static_cast<int>(size_of(problem.dtype)), bfloat16 ? 2 : 4,
           choice(tile, "terms") == 3 ? 8 : 4, choice(tile, "chunk"), choice(tile, "block_k"),
           choice(tile, "block_v"), choice(tile, "stages")}};
}

std::int64_t chunks(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.seq, choice(tile, "chunk"));
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_states(problem)) return reason;
  if (auto reason = refuse_terms(problem, choice(tile, "terms"))) return reason;
  if (auto reason = refuse_ragged(problem)) return reason;
  if (auto reason = refuse_bfloat16_state(problem)) return reason;
  const Shape& s = problem.shape;
  for (const auto& [axis, extent] : {std::pair{"block_k", s.key_dim}, {"block_v", s.value_dim}})
    if (choice(tile, axis) > 16 && choice(tile, axis) / 2 >= extent)
      return std::string("half of ") + axis + "=" + std::to_string(choice(tile, axis)) +
             " already covers the dimension";
  const PipelineLayout sizes = layout(problem, tile);
  const int bytes = std::max({sizes.inter_bytes, sizes.intra_bytes, sizes.combine_bytes});
  if (static_cast<std::size_t>(bytes) > limits.shared_per_block)
    return std::to_string(bytes) + " bytes of shared memory, " +
           std::to_string(limits.shared_per_block) + " are there";
  const int parts = std::max({sizes.blocks_k, sizes.blocks_v});
  if (static_cast<double>(sequences(problem)) * static_cast<double>(chunks(problem, tile)) * parts *
          parts >
      std::numeric_limits<int>::max())
    return "more blocks than a grid holds";
  return std::nullopt;
}

/// Elements of a padded [sequences, seq, `row`] workspace region.
double padded(const Problem& problem, const Tile& tile, int row) {
  return static_cast<double>(sequences(problem)) * static_cast<double>(chunks(problem, tile)) *
         choice(tile, "chunk") * row;
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const PipelineLayout sizes = layout(problem, tile);
  const auto bytes = [](double elements, int of_one) {
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(of_one);
  };
  const double of_keys = padded(problem, tile, sizes.keys);
  return {{"gate_sums", bytes(of_keys, sizes.shape.sum_bytes)},
          {"decayed_q", bytes(of_keys, sizes.shape.operand_bytes)},
          {"decayed_k", bytes(of_keys, sizes.shape.operand_bytes)},
          {"partial_o", bytes(sizes.blocks_k * padded(problem, tile, sizes.shape.value_dim), 4)},
          {"scores", bytes(sizes.blocks_k * padded(problem, tile, sizes.shape.chunk), 4)}};
}

/// Each launch reads its operands once: blocks that share operands run at the same time, and the L2
/// cache serves all reads but the first.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const PipelineLayout sizes = layout(problem, tile);
  const double in_k = key_bytes(problem), in_v = value_bytes(problem);
  const double of_keys = padded(problem, tile, sizes.keys);
  const double sums = sizes.shape.sum_bytes * of_keys;
  const double decayed = 2 * sizes.shape.operand_bytes * of_keys;
  const double partial = 4 * sizes.blocks_k * padded(problem, tile, sizes.shape.value_dim);
  const double scores = 4 * sizes.blocks_k * padded(problem, tile, sizes.shape.chunk);
  const double state = state_bytes(problem);
  const double last_sums = sums / sizes.shape.chunk;
  return {gate_bytes(problem) + (2 * in_k + sums) +
              (decayed + last_sums + in_v + (problem.initial_state ? state : 0)) +
              (2 * in_k + sums) + (scores + in_v + partial),
          sums + decayed + partial + scores + in_v + (problem.final_state ? state : 0)};
}

double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const auto tokens = static_cast<double>(sequences(problem)) * static_cast<double>(s.seq);
  const auto keys = static_cast<double>(s.key_dim), values = static_cast<double>(s.value_dim);
  const int chunk = choice(tile, "chunk");
  return tokens * (4 * keys * values + (chunk + 1) * (1.5 * keys + values));
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const PipelineLayout sizes = layout(problem, tile);
  Recipe r{"linear_recurrence/pipeline/chunk_pipeline.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "inter_bytes", sizes.inter_bytes});
  r.constants.push_back({"launch", "intra_bytes", sizes.intra_bytes});
  r.constants.push_back({"launch", "combine_bytes", sizes.combine_bytes});
  const auto all = static_cast<unsigned>(sequences(problem));
  const auto in_chunks = all * static_cast<unsigned>(chunks(problem, tile));
  const auto blocks_k = static_cast<unsigned>(sizes.blocks_k);
  const auto blocks_v = static_cast<unsigned>(sizes.blocks_v);
  const auto block_k = static_cast<unsigned>(sizes.shape.block_k);
  const auto threads = static_cast<unsigned>(sizes.product_threads);
  const auto bytes = [](int n) { return static_cast<std::size_t>(n); };
  r.steps = {
      KernelLaunch{"decay_cumsum", {in_chunks * blocks_k}, {block_k}, 0},
      KernelLaunch{"prepare_qg_kg", {in_chunks * blocks_k}, {block_k}, 0},
      KernelLaunch{"inter_chunk", {all * blocks_k * blocks_v}, {threads}, bytes(sizes.inter_bytes)},
      KernelLaunch{"intra_chunk", {in_chunks * blocks_k}, {128}, bytes(sizes.intra_bytes)},
      KernelLaunch{"combine", {in_chunks * blocks_v}, {threads}, bytes(sizes.combine_bytes)}};
  return r;
}

}  // namespace

Variant chunk_pipeline(const Member& member) {
  return cuda_variant(
      member,
      {"chunk_pipeline",
       "five launches: gate sums, q and k decayed, walk over chunks, scores, combination",
       space(),
       {"linear_recurrence/pipeline/chunk_pipeline.cuh",
        "linear_recurrence/pipeline/chunk_pipeline.cpp", "linear_recurrence/chunk/walk.cpp"},
       walk_arithmetic,
       reject,
       traffic,
       flops,
       workspace,
       recipe});
}

}  // namespace gla_bench::linear_recurrence
