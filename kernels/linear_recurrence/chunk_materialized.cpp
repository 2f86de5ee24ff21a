// Host side of chunk_materialized.cuh: chunk states, scan over the chunks, outputs.

#include "kernels/linear_recurrence/chunk_walk.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

/// The walks are short and many: fewer ways to cut a block than chunk_fused has.
TileSpace space() {
  TileSpace axes{{"chunk", {256, 128, 64}, "tokens between states in device memory"},
                 {"step", {32, 64, 16}, "tokens whose state products are formed at once"}};
  for (TileAxis& axis : walk_axes()) {
    if (axis.name == "block_v") axis.values = {64, 128, 32, 16};
    if (axis.name == "warp_v") axis.values = {16};
    axes.push_back(std::move(axis));
  }
  axes.push_back({"scan_warps", {4, 8}, "warps along the chunks in the scan"});
  return axes;
}

std::int64_t chunks(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.seq, choice(tile, "chunk"));
}

/// Blocks of chunk_scan: a lane owns 4 neighbours in a row of V, or 1 where rows are not aligned so
/// far.
std::int64_t scan_blocks(const Problem& problem) {
  const std::int64_t width = problem.shape.value_dim % 4 == 0 ? 4 : 1;
  return sequences(problem) * ceil_div(problem.shape.key_dim * problem.shape.value_dim, 32 * width);
}

/// Bytes of the chunks' decays.
double decay_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<double>(sequences(problem)) * static_cast<double>(chunks(problem, tile)) *
         static_cast<double>(problem.shape.key_dim) * 4;
}

WalkLayout layout(const Problem& problem, const Tile& tile, bool outputs) {
  return {walk_shape(problem, tile, choice(tile, "step"), outputs)};
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto states = static_cast<std::size_t>(sequences(problem) * chunks(problem, tile));
  const auto keys = static_cast<std::size_t>(problem.shape.key_dim);
  const auto values = static_cast<std::size_t>(problem.shape.value_dim);
  return {{"chunk_states", states * keys * values * sizeof(float)},
          {"chunk_decays", states * keys * sizeof(float)}};
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_walk(problem, tile, choice(tile, "step"), limits)) return reason;
  const auto count = static_cast<double>(sequences(problem));
  const double blocks = count * static_cast<double>(chunks(problem, tile)) *
                        static_cast<double>(walk_slices(problem, tile));
  if (auto reason = refuse_blocks(blocks)) return reason;
  if (auto reason = refuse_blocks(static_cast<double>(scan_blocks(problem)))) return reason;
  const std::vector<Region> regions = workspace(problem, tile);
  return refuse_workspace(
      static_cast<double>(regions[0].bytes) + static_cast<double>(regions[1].bytes), limits);
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto slices = static_cast<double>(walk_slices(problem, tile));
  const double key = key_bytes(problem), value = value_bytes(problem);
  const double state = state_bytes(problem), decays = decay_bytes(problem, tile);
  const double states = state * static_cast<double>(chunks(problem, tile));
  Traffic t;
  t.read_bytes =
      (2 * key * slices + value) + (states + decays) + (3 * key * slices + value + states);
  t.write_bytes = (states + decays) + states + value;
  if (problem.initial_state) t.read_bytes += state;
  if (problem.final_state) t.write_bytes += state;
  return t;
}

double flops(const Problem& problem, const Tile& tile) {
  const int step = choice(tile, "step");
  const double scan = 2 * state_bytes(problem) / 4 * static_cast<double>(chunks(problem, tile));
  return walk_flops(problem, tile, step, false) + scan + walk_flops(problem, tile, step, true);
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const WalkLayout states = layout(problem, tile, false), outputs = layout(problem, tile, true);
  Recipe r{"linear_recurrence/chunk_materialized.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "state_shared_bytes", states.bytes});
  r.constants.push_back({"launch", "output_shared_bytes", outputs.bytes});
  const auto blocks = static_cast<unsigned>(sequences(problem) * chunks(problem, tile) *
                                            walk_slices(problem, tile));
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
               space(),
               {"linear_recurrence/chunk_materialized.cuh",
                "linear_recurrence/chunk_materialized.cpp", "linear_recurrence/chunk_walk.cpp"},
               walk_arithmetic,
               reject,
               traffic,
               flops,
               workspace,
               recipe});
}

}  // namespace gla_bench::linear_recurrence
