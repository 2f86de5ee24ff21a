// Host side of the backward parallel.cuh: every chunk against every other one, without states.

#include <cmath>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/backward/chunk/chunk.hpp"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"

namespace gla_bench::linear_recurrence {
namespace {

ChunkGradientLayout layout(const Problem& problem, const Tile& tile) {
  return chunk_gradient_layout(problem, tile, Outside::others);
}

GradientSums sums(const Problem& problem, const Tile& tile) {
  const int chunk = choice(tile, "chunk");
  return {layout(problem, tile).slices, chunk_slots(problem, chunk), chunk};
}

bool has_decays(const Problem& problem) {
  return member_of(problem).decay != Decay::none;
}

/// Rows of K in the workspace, with their padding: of each token, and of each chunk.
double padded_keys(const Problem& problem, const Tile& tile) {
  return static_cast<double>(layout(problem, tile).slices) * choice(tile, "block_k");
}
double slots(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunk_slots(problem, choice(tile, "chunk")));
}
double operand_region_bytes(const Problem& problem, const Tile& tile) {
  return 2 * slots(problem, tile) * choice(tile, "chunk") * padded_keys(problem, tile) *
         layout(problem, tile).element_bytes;
}
double decay_region_bytes(const Problem& problem, const Tile& tile) {
  return 3 * slots(problem, tile) * padded_keys(problem, tile) * 4;
}
double read_region_bytes(const Problem& problem, const Tile& tile) {
  return slots(problem, tile) * choice(tile, "chunk") * padded_keys(problem, tile) * 4;
}
/// Slots of a sequence or, ragged, of all sequences of a head (ChunkSlots::group()).
double passing_region_bytes(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const std::int64_t chunk = choice(tile, "chunk");
  const std::int64_t group = ragged(problem) ? s.seq / chunk + s.sequences : ceil_div(s.seq, chunk);
  return slots(problem, tile) * static_cast<double>(group) * padded_keys(problem, tile) * 4;
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto whole = [](double bytes) { return static_cast<std::size_t>(bytes); };
  std::vector<Region> own{{"operands", whole(operand_region_bytes(problem, tile))},
                          {"read", whole(read_region_bytes(problem, tile))}};
  if (has_decays(problem)) {
    own.push_back({"decays", whole(decay_region_bytes(problem, tile))});
    own.push_back({"passing", whole(passing_region_bytes(problem, tile))});
  }
  return gradient_regions(problem, std::move(own), sums(problem, tile));
}

double initial_blocks(const Problem& problem, const Tile& tile) {
  const ChunkGradientLayout at = layout(problem, tile);
  return static_cast<double>(sequences(problem)) * at.slices * at.panels;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(chunk_gradient_space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_blocks(initial_blocks(problem, tile))) return reason;
  // In double first, since a square of many chunks does not fit the regions' sizes.
  if (auto reason = refuse_workspace(passing_region_bytes(problem, tile), limits)) return reason;
  return refuse_chunk_gradients(problem, tile, layout(problem, tile), workspace(problem, tile),
                                sums(problem, tile), limits);
}

/// Pairs of different chunks of one sequence and head, over all of them. Ragged sequences count
/// with their average length.
double chunk_pairs(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const double length =
      static_cast<double>(s.seq) / (ragged(problem) ? static_cast<double>(s.sequences) : 1.0);
  const double count = std::ceil(length / choice(tile, "chunk"));
  return static_cast<double>(sequences(problem)) * count * (count - 1) / 2;
}

/// Each launch reads its operands from device memory once: the chunks of one sequence run at the
/// same time, and so the L2 cache serves all reads but the first.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const double operands = operand_region_bytes(problem, tile),
               read = read_region_bytes(problem, tile),
               keys = key_bytes(problem) + gate_bytes(problem) + small_bytes(problem);
  Traffic bytes = gradient_sum_traffic(problem, sums(problem, tile));
  bytes.read_bytes += keys + 2 * token_gradient_reads(problem) + 1.5 * operands + read +
                      2 * host::states_read(problem) + host::states_written(problem);
  bytes.write_bytes += operands + read + gradient_bytes(problem);
  if (has_decays(problem)) {
    const double passing = chunk_pairs(problem, tile) * padded_keys(problem, tile) * 4;
    const double decays = decay_region_bytes(problem, tile);
    bytes.read_bytes += keys + passing + decays + host::states_written(problem);
    bytes.write_bytes += passing + decays;
  }
  if (problem.initial_state)
    bytes.read_bytes +=
        operands / 2 + output_gradient_bytes(problem) + host::states_written(problem);
  if (flag(problem, "normalize"))
    bytes.read_bytes += host::token_reads(problem) + value_bytes(problem) + operands / 2;
  return bytes;
}

/// Every slice forms do v^T once for queries and once for keys, and every panel of dv its scores.
double flops(const Problem& problem, const Tile& tile) {
  const ChunkGradientLayout at = layout(problem, tile);
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = host::columns(problem), c = at.chunk;
  const double outputs = flag(problem, "normalize") ? at.panels * k + at.slices * v : 0.0;
  const double pair = 2 * c * c * (2 * k + at.panels * k + 3 * at.slices * v + outputs);
  const double states = 2 * host::tokens(problem) * k * v;
  const double ends = has_decays(problem) ? 3 : 2;
  return chunk_pairs(problem, tile) * pair + chunk_gradient_flops(problem, tile) +
         states * (problem.initial_state ? ends : 0) +
         (has_decays(problem) && problem.final_state ? states : 0);
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const ChunkGradientLayout at = layout(problem, tile);
  const GradientSums shared = sums(problem, tile);
  Recipe r = chunk_gradient_recipe("linear_recurrence/backward/quadratic/parallel.cuh", problem,
                                   tile, at, workspace(problem, tile), shared);
  const auto launch = [&](const char* entry, double blocks) {
    r.steps.push_back(gradient_launch(entry, blocks, at.threads, at.shared_bytes));
  };
  const auto add = [&](const std::vector<Step>& steps) {
    r.steps.insert(r.steps.end(), steps.begin(), steps.end());
  };
  const double blocks = static_cast<double>(shared.tasks * shared.slices);
  launch("quadratic_operands", blocks);
  if (flag(problem, "normalize")) launch("quadratic_outputs", blocks);
  add(output_gradient_steps(problem));
  launch("quadratic_readers", blocks);
  if (problem.initial_state) launch("quadratic_initial", initial_blocks(problem, tile));
  launch("quadratic_gradients", blocks);
  add(gradient_sum_steps(problem, shared));
  return r;
}

}  // namespace

Variant backward_parallel(const Member& member) {
  return cuda_backward_variant(
      member, {"parallel",
               "quadratic in T: every chunk against every other one, without states",
               chunk_gradient_space(),
               {"linear_recurrence/backward/quadratic/parallel.cuh",
                "linear_recurrence/backward/quadratic/parallel.cpp",
                "linear_recurrence/backward/chunk/chunk.cpp"},
               chunk_gradient_arithmetic,
               reject,
               traffic,
               flops,
               workspace,
               recipe});
}

}  // namespace gla_bench::linear_recurrence
