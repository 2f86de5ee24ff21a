// Host side of fused.cuh: one launch, with the state on chip. As the forward of training it keeps
// states for the backward.

#include "core/operator.hpp"
#include "kernels/linear_recurrence/chunk/slots.hpp"
#include "kernels/linear_recurrence/chunk/walk.hpp"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"
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
  if (auto reason = refuse_states_apart(problem, choice(tile, "chunk"), "chunk")) return reason;
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
          value_bytes(problem) + written_state_bytes(problem)};
}

Recipe recipe_of(const Problem& problem, const Tile& tile, int kept_chunks) {
  const WalkLayout sizes = layout(problem, tile);
  Recipe r{"linear_recurrence/chunk/fused.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "kept_chunks", kept_chunks});
  const auto blocks = static_cast<unsigned>(sequences(problem) * walk_slices(problem, tile));
  r.steps.push_back(KernelLaunch{"chunk_fused",
                                 {blocks, 1, 1},
                                 {static_cast<unsigned>(sizes.threads), 1, 1},
                                 static_cast<std::size_t>(sizes.bytes)});
  return r;
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  return recipe_of(problem, tile, 0);
}

CudaForm form(const Member& member) {
  return {"chunk_fused",
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
          recipe};
}

/// The walk's tile where states are kept: `chunk` then says how far these are apart, and `step` is
/// the walk's chunk.
Tile walk_tile(Tile tile) {
  tile["chunk"] = choice(tile, "step");
  tile.erase("step");
  return tile;
}

TileSpace space_with_states(const Member& member) {
  TileSpace axes = space(member);
  axes.front().name = "step";
  axes.insert(axes.begin(),
              {"chunk", {64, 32, 128, 256}, "tokens between states in device memory"});
  return axes;
}

double kept_state_bytes(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  return static_cast<double>(chunk_slots(problem, choice(tile, "chunk"))) *
         static_cast<double>(s.key_dim * s.value_dim) * 4;
}

std::optional<std::string> reject_with_states(const Problem& problem, const Tile& tile,
                                              const Limits& limits) {
  if (auto reason = refuse_choice(space_with_states(member_of(problem)), tile)) return reason;
  if (choice(tile, "chunk") % choice(tile, "step") != 0)
    return "chunk=" + std::to_string(choice(tile, "chunk")) + " is not a multiple of step";
  if (flag(problem, "normalize")) return "keeps no normalizers beside the states";
  if (auto reason = reject(problem, walk_tile(tile), limits)) return reason;
  return refuse_workspace(kept_state_bytes(problem, tile), limits);
}

}  // namespace

Variant chunk_fused(const Member& member) {
  return cuda_variant(member, form(member));
}

Variant chunk_fused_with_states(const Member& member) {
  CudaForm with_states = form(member);
  with_states.space = space_with_states(member);
  with_states.reject = reject_with_states;
  with_states.traffic = [](const Problem& problem, const Tile& tile) {
    Traffic bytes = traffic(problem, walk_tile(tile));
    bytes.write_bytes += kept_state_bytes(problem, tile);
    return bytes;
  };
  with_states.flops = [](const Problem& problem, const Tile& tile) {
    return walk_flops(problem, tile, choice(tile, "step"), true);
  };
  with_states.workspace = [](const Problem& problem, const Tile& tile) -> std::vector<Region> {
    return {{"chunk_states", static_cast<std::size_t>(kept_state_bytes(problem, tile))}};
  };
  with_states.recipe = [](const Problem& problem, const Tile& tile) {
    return recipe_of(problem, walk_tile(tile), choice(tile, "chunk") / choice(tile, "step"));
  };
  return cuda_variant(member, with_states);
}

}  // namespace gla_bench::linear_recurrence
