// Host side of the backward materialized.cuh: all chunks in parallel, with a scan each way.

#include "core/operator.hpp"
#include "kernels/linear_recurrence/backward/chunk/chunk.hpp"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr int scan_threads = 256;  // sum_threads in sums.cuh

ChunkGradientLayout layout(const Problem& problem, const Tile& tile) {
  return chunk_gradient_layout(problem, tile, Outside::states);
}

GradientSums sums(const Problem& problem, const Tile& tile) {
  const int chunk = choice(tile, "chunk");
  return {layout(problem, tile).slices, chunk_slots(problem, chunk), chunk};
}

double decay_bytes(const Problem& problem, const Tile& tile) {
  return 4.0 * static_cast<double>(chunk_slots(problem, choice(tile, "chunk"))) *
         static_cast<double>(problem.shape.key_dim);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto states = static_cast<std::size_t>(chunk_state_bytes(problem, tile));
  return gradient_regions(problem,
                          {{"chunk_states", states},
                           {"changes", states},
                           {"decays", static_cast<std::size_t>(decay_bytes(problem, tile))}},
                          sums(problem, tile));
}

double scan_blocks(const Problem& problem) {
  const auto elements = static_cast<std::int64_t>(stored_state_bytes(problem) / 4);
  return static_cast<double>(sequences(problem)) *
         static_cast<double>(ceil_div(elements, scan_threads));
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits,
                                  States states) {
  if (auto reason = refuse_choice(chunk_gradient_space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_given_states(problem, states)) return reason;
  if (auto reason = refuse_blocks(scan_blocks(problem))) return reason;
  return refuse_chunk_gradients(problem, tile, layout(problem, tile), workspace(problem, tile),
                                sums(problem, tile), limits);
}

/// The slices of a chunk are neighbours in the grid, so the L2 cache serves all reads of v and do
/// but the first.
Traffic traffic(const Problem& problem, const Tile& tile, States of_states) {
  const double states = chunk_state_bytes(problem, tile), decays = decay_bytes(problem, tile);
  const double gates = gate_bytes(problem) + small_bytes(problem);
  Traffic bytes = gradient_sum_traffic(problem, sums(problem, tile));
  bytes.read_bytes += (key_bytes(problem) + gates + output_gradient_bytes(problem)) +
                      chunk_output_reads(problem, tile) + token_gradient_reads(problem) +
                      3 * states + decays + host::states_written(problem);
  bytes.write_bytes += 2 * states + decays + gradient_bytes(problem);
  if (of_states == States::given) return bytes;
  bytes.read_bytes += (key_bytes(problem) + gates + value_bytes(problem)) + states + decays +
                      host::states_read(problem);
  bytes.write_bytes += 2 * states;
  return bytes;
}

double flops(const Problem& problem, const Tile& tile, States states) {
  const double of_state = static_cast<double>(problem.shape.key_dim) * host::columns(problem);
  const double scan = 2 * chunk_state_bytes(problem, tile) / 4;
  return chunk_gradient_flops(problem, tile) + scan +
         (states == States::given ? 0.0 : 2 * host::tokens(problem) * of_state + scan);
}

Recipe recipe(const Problem& problem, const Tile& tile, States states) {
  const ChunkGradientLayout at = layout(problem, tile);
  const GradientSums shared = sums(problem, tile);
  Recipe r = chunk_gradient_recipe("linear_recurrence/backward/chunk/materialized.cuh", problem,
                                   tile, at, workspace(problem, tile), shared);
  const double blocks = static_cast<double>(shared.tasks * shared.slices);
  const auto add = [&](const std::vector<Step>& steps) {
    r.steps.insert(r.steps.end(), steps.begin(), steps.end());
  };
  const auto of_chunks = [&](const char* entry) {
    return gradient_launch(entry, blocks, at.threads, at.shared_bytes);
  };
  const auto scan = [&](const char* entry) {
    return gradient_launch(entry, scan_blocks(problem), scan_threads);
  };
  r.constants.push_back({"launch", "given_states", states == States::given});
  if (states == States::formed)
    add({of_chunks("chunk_gradient_states"), scan("chunk_scan_states")});
  add(chunk_output_steps(problem, tile, at));
  add({of_chunks("chunk_gradient_changes"), scan("chunk_scan_changes"),
       of_chunks("chunk_gradients")});
  add(gradient_sum_steps(problem, shared));
  return r;
}

Variant variant_of(const Member& member, States states) {
  return cuda_backward_variant(
      member, {"chunk_materialized",
               "chunk states and their gradients in memory, a scan each way, then the gradients",
               chunk_gradient_space(),
               {"linear_recurrence/backward/chunk/materialized.cuh",
                "linear_recurrence/backward/chunk/materialized.cpp",
                "linear_recurrence/backward/chunk/chunk.cpp"},
               chunk_gradient_arithmetic,
               with_states(reject, states),
               with_states(traffic, states),
               with_states(flops, states),
               workspace,
               with_states(recipe, states)});
}

}  // namespace

Variant backward_chunk_materialized(const Member& member) {
  return variant_of(member, States::formed);
}

Variant backward_chunk_materialized_of_states(const Member& member) {
  return variant_of(member, States::given);
}

}  // namespace gla_bench::linear_recurrence
