// Host side of materialized.cuh: the chunks' states, a scan over the chunks, the outputs.

#include "core/operator.hpp"
#include "kernels/linear_recurrence/chunk/slots.hpp"
#include "kernels/linear_recurrence/chunk/walk.hpp"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

/// The walks are short and there are many of them, so this variant needs fewer ways to cut a block
/// than chunk_fused.
TileSpace space(const Member& member) {
  TileSpace axes{{"chunk", {256, 128, 64}, "tokens between states in device memory"},
                 {"step", {32, 64, 16}, "tokens whose state products are formed at once"}};
  for (TileAxis& axis : walk_axes(member)) {
    if (axis.name == "block_v") axis.values = {64, 128, 32, 16};
    if (axis.name == "warp_v") axis.values = {16};
    axes.push_back(std::move(axis));
  }
  axes.push_back({"scan_warps", {4, 8}, "warps along the chunks in the scan"});
  return axes;
}

std::int64_t slots(const Problem& problem, const Tile& tile) {
  return chunk_slots(problem, choice(tile, "chunk"));
}

/// Blocks of chunk_scan. A lane owns 4 neighbours in a row of V, or 1 where rows are not aligned
/// well enough. For a normalizer it owns one key.
std::int64_t scan_blocks(const Problem& problem) {
  const Shape& s = problem.shape;
  const std::int64_t width = s.value_dim % 4 == 0 ? 4 : 1;
  return sequences(problem) * (ceil_div(s.key_dim * s.value_dim, 32 * width) +
                               (flag(problem, "normalize") ? ceil_div(s.key_dim, 32) : 0));
}

WalkLayout layout(const Problem& problem, const Tile& tile, bool outputs) {
  return {walk_shape(problem, tile, choice(tile, "step"), outputs)};
}

/// The regions, in the order in which scan.cuh counts them.
std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto chunks = static_cast<std::size_t>(slots(problem, tile));
  const auto keys = static_cast<std::size_t>(problem.shape.key_dim);
  const auto values = static_cast<std::size_t>(problem.shape.value_dim);
  const Decay decay = member_of(problem).decay;
  std::vector<Region> regions{{"chunk_states", chunks * keys * values * sizeof(float)}};
  if (decay != Decay::none)
    regions.push_back(
        {"chunk_decays", chunks * (decay == Decay::per_key ? keys : 1) * sizeof(float)});
  if (flag(problem, "normalize"))
    regions.push_back({"chunk_normalizers", chunks * keys * sizeof(float)});
  return regions;
}

/// Bytes of the workspace. With ragged sequences this counts all slots, though some hold no chunk
/// and are not touched.
double region_bytes(const Problem& problem, const Tile& tile) {
  double bytes = 0;
  for (const Region& region : workspace(problem, tile)) bytes += static_cast<double>(region.bytes);
  return bytes;
}

double decay_bytes(const Problem& problem, const Tile& tile) {
  double bytes = 0;
  for (const Region& region : workspace(problem, tile))
    if (region.name == "chunk_decays") bytes = static_cast<double>(region.bytes);
  return bytes;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(member_of(problem)), tile)) return reason;
  if (auto reason = refuse_walk(problem, tile, choice(tile, "step"), limits)) return reason;
  if (auto reason = refuse_states_apart(problem, choice(tile, "chunk"), "chunk")) return reason;
  const double blocks =
      static_cast<double>(slots(problem, tile)) * static_cast<double>(walk_slices(problem, tile));
  if (auto reason = refuse_blocks(blocks)) return reason;
  if (auto reason = refuse_blocks(static_cast<double>(scan_blocks(problem)))) return reason;
  return refuse_workspace(region_bytes(problem, tile), limits);
}

/// The slices of a sequence are neighbours in the grid, so the L2 cache serves all reads of a token
/// but the first.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const double key = key_bytes(problem), value = value_bytes(problem);
  const double gates = walk_gate_bytes(problem), state = state_bytes(problem);
  // The decays do not go through the scan again.
  const double once = region_bytes(problem, tile), again = once - decay_bytes(problem, tile);
  Traffic t;
  t.read_bytes = (key + gates + value) + once + (2 * key + gates + value + again);
  t.write_bytes = once + again + value + written_state_bytes(problem);
  if (problem.initial_state) t.read_bytes += state;
  return t;
}

double flops(const Problem& problem, const Tile& tile) {
  const int step = choice(tile, "step");
  const double scan = 2 * region_bytes(problem, tile) / 4;
  return walk_flops(problem, tile, step, false) + scan + walk_flops(problem, tile, step, true);
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const WalkLayout states = layout(problem, tile, false), outputs = layout(problem, tile, true);
  Recipe r{"linear_recurrence/chunk/materialized.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "state_shared_bytes", states.bytes});
  r.constants.push_back({"launch", "output_shared_bytes", outputs.bytes});
  const auto blocks = static_cast<unsigned>(slots(problem, tile) * walk_slices(problem, tile));
  const auto walk = [blocks](const char* entry, const WalkLayout& sizes) {
    return KernelLaunch{entry,
                        {blocks, 1, 1},
                        {static_cast<unsigned>(sizes.threads), 1, 1},
                        static_cast<std::size_t>(sizes.bytes)};
  };
  const auto scan_threads = static_cast<unsigned>(32 * choice(tile, "scan_warps"));
  r.steps.push_back(walk("chunk_states", states));
  r.steps.push_back(KernelLaunch{
      "chunk_scan", {static_cast<unsigned>(scan_blocks(problem)), 1, 1}, {scan_threads, 1, 1}, 0});
  r.steps.push_back(walk("chunk_outputs", outputs));
  return r;
}

}  // namespace

Variant chunk_materialized(const Member& member) {
  return cuda_variant(
      member, {"chunk_materialized",
               "three launches: chunk states, parallel scan over the chunks, outputs",
               space(member),
               {"linear_recurrence/chunk/materialized.cuh",
                "linear_recurrence/chunk/materialized.cpp", "linear_recurrence/chunk/walk.cpp"},
               walk_arithmetic,
               reject,
               traffic,
               flops,
               workspace,
               recipe});
}

}  // namespace gla_bench::linear_recurrence
