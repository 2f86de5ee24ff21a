// Host side of fused.cuh: one launch, with the state on chip.

#include "core/operator.hpp"
#include "kernels/linear_recurrence/chunk/walk.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space(const Member& member) {
  TileSpace axes{{"chunk", {32, 64, 16}, "tokens whose state products are formed at once"}};
  for (TileAxis& axis : walk_axes(member)) axes.push_back(std::move(axis));
  return axes;
}

WalkLayout layout(const Problem& problem, const Tile& tile) {
  return {walk_shape(problem, tile, choice(tile, "chunk"), true)};
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(member_of(problem)), tile)) return reason;
  if (auto reason = refuse_walk(problem, tile, choice(tile, "chunk"), limits)) return reason;
  if (flag(problem, "normalize") && flag(problem, "in_place") && walk_slices(problem, tile) > 1)
    return "slices of V would read the normalizer that one of them writes in place";
  return refuse_blocks(static_cast<double>(sequences(problem)) *
                       static_cast<double>(walk_slices(problem, tile)));
}

/// The slices of a sequence are neighbours in the grid and walk it together, so the L2 cache serves
/// all reads of a token but the first.
Traffic traffic(const Problem& problem, const Tile&) {
  const double states = state_bytes(problem);
  return {2 * key_bytes(problem) + walk_gate_bytes(problem) + value_bytes(problem) +
              (problem.initial_state ? states : 0),
          value_bytes(problem) + (problem.final_state ? states : 0)};
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const WalkLayout sizes = layout(problem, tile);
  Recipe r{"linear_recurrence/chunk/fused.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  const auto blocks = static_cast<unsigned>(sequences(problem) * walk_slices(problem, tile));
  r.steps.push_back(KernelLaunch{"chunk_fused",
                                 {blocks, 1, 1},
                                 {static_cast<unsigned>(sizes.threads), 1, 1},
                                 static_cast<std::size_t>(sizes.bytes)});
  return r;
}

}  // namespace

Variant chunk_fused(const Member& member) {
  return cuda_variant(member,
                      {"chunk_fused",
                       "one launch: a block walks a sequence by chunks with the state in registers",
                       space(member),
                       {"linear_recurrence/chunk/fused.cuh", "linear_recurrence/chunk/fused.cpp",
                        "linear_recurrence/chunk/walk.cpp"},
                       walk_arithmetic,
                       reject,
                       traffic,
                       [](const Problem& problem, const Tile& tile) {
                         return walk_flops(problem, tile, choice(tile, "chunk"), true);
                       },
                       {},
                       recipe});
}

}  // namespace gla_bench::linear_recurrence
