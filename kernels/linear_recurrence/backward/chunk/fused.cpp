// Host side of the backward fused.cuh: states kept by a walk forwards, then a walk back.

#include "core/operator.hpp"
#include "kernels/linear_recurrence/backward/chunk/chunk.hpp"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"

namespace gla_bench::linear_recurrence {
namespace {

ChunkGradientLayout layout(const Problem& problem, const Tile& tile) {
  return chunk_gradient_layout(problem, tile, Outside::kept_change);
}

GradientSums sums(const Problem& problem, const Tile& tile) {
  return {layout(problem, tile).slices, sequences(problem), 0};
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  return gradient_regions(
      problem, {{"chunk_states", static_cast<std::size_t>(chunk_state_bytes(problem, tile))}},
      sums(problem, tile));
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits,
                                  States states) {
  if (auto reason = refuse_choice(chunk_gradient_space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_given_states(problem, states)) return reason;
  return refuse_chunk_gradients(problem, tile, layout(problem, tile), workspace(problem, tile),
                                sums(problem, tile), limits);
}

/// The slices of a sequence are neighbours in the grid and walk it together, so the L2 cache serves
/// all reads of v and do but the first. It also has the state of the chunk before.
Traffic traffic(const Problem& problem, const Tile& tile, States of_states) {
  const double states = chunk_state_bytes(problem, tile);
  Traffic bytes = gradient_sum_traffic(problem, sums(problem, tile));
  bytes.read_bytes += chunk_output_reads(problem, tile) + token_gradient_reads(problem) + states +
                      host::states_written(problem);
  bytes.write_bytes += gradient_bytes(problem);
  if (of_states == States::given) return bytes;
  bytes.read_bytes +=
      key_bytes(problem) + gate_bytes(problem) + value_bytes(problem) + host::states_read(problem);
  bytes.write_bytes += states;
  return bytes;
}

double flops(const Problem& problem, const Tile& tile, States states) {
  const double of_state = static_cast<double>(problem.shape.key_dim) * host::columns(problem);
  return chunk_gradient_flops(problem, tile) +
         (states == States::given ? 0.0 : 2 * host::tokens(problem) * of_state);
}

Recipe recipe(const Problem& problem, const Tile& tile, States states) {
  const ChunkGradientLayout at = layout(problem, tile);
  const GradientSums shared = sums(problem, tile);
  Recipe r = chunk_gradient_recipe("linear_recurrence/backward/chunk/fused.cuh", problem, tile, at,
                                   workspace(problem, tile), shared);
  const auto walk = [&](const char* entry) {
    return gradient_launch(entry, static_cast<double>(shared.tasks * shared.slices), at.threads,
                           at.shared_bytes);
  };
  if (states == States::formed) r.steps.push_back(walk("chunk_keep_states"));
  for (const Step& step : chunk_output_steps(problem, tile, at)) r.steps.push_back(step);
  r.steps.push_back(walk("chunk_gradients_fused"));
  for (const Step& step : gradient_sum_steps(problem, shared)) r.steps.push_back(step);
  return r;
}

Variant variant_of(const Member& member, States states) {
  return cuda_backward_variant(
      member,
      {"chunk_fused",
       "chunk by chunk, back from kept states, with the gradient of the state on chip",
       chunk_gradient_space(),
       {"linear_recurrence/backward/chunk/fused.cuh", "linear_recurrence/backward/chunk/fused.cpp",
        "linear_recurrence/backward/chunk/chunk.cpp"},
       chunk_gradient_arithmetic,
       with_states(reject, states),
       with_states(traffic, states),
       with_states(flops, states),
       workspace,
       with_states(recipe, states)});
}

}  // namespace

Variant backward_chunk_fused(const Member& member) {
  return variant_of(member, States::formed);
}

Variant backward_chunk_fused_of_states(const Member& member) {
  return variant_of(member, States::given);
}

}  // namespace gla_bench::linear_recurrence
