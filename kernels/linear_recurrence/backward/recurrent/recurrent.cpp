// Host side of the backward recurrent.cuh.

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/backward/recurrent/layout.h"
#include "kernels/linear_recurrence/backward/variant.hpp"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"kept", {16, 8, 4, 32}, "tokens between kept states, whose states fit the registers"},
          {"rows", {2, 1, 4}, "rows of the state that a warp owns"},
          {"warps", {8, 4, 16}, "warps of a block"}};
}

RecurrentGradientLayout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim), static_cast<int>(host::columns(problem)),
          choice(tile, "kept"), choice(tile, "rows"), choice(tile, "warps")};
}

GradientSums sums(const Problem& problem, const Tile& tile) {
  return {layout(problem, tile).slices, sequences(problem), 0};
}

double kept_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunk_slots(problem, choice(tile, "kept"))) *
         stored_state_bytes(problem);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  return gradient_regions(problem, {{"kept", static_cast<std::size_t>(kept_bytes(problem, tile))}},
                          sums(problem, tile));
}

/// Registers that states may take. Besides them a thread holds operands, sums and addresses.
int most_registers(const RecurrentGradientLayout& at) {
  constexpr int of_a_multiprocessor = 65536, others = 80;
  return std::min(255, of_a_multiprocessor / at.threads) - others;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  const RecurrentGradientLayout at = layout(problem, tile);
  if (at.block_k > 4 && at.block_k / 2 >= problem.shape.key_dim)
    return "half of a block's " + std::to_string(at.block_k) + " rows already cover key_dim";
  if (at.registers > most_registers(at))
    return std::to_string(at.registers) + " registers of states a thread, " +
           std::to_string(most_registers(at)) + " are there";
  if (auto reason = refuse_shared(at.shared_bytes, limits)) return reason;
  return refuse_gradients(problem, workspace(problem, tile), sums(problem, tile), limits);
}

/// The slices of a sequence are neighbours in the grid and walk it together, so the L2 cache serves
/// all reads of v and do but the first.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const double kept = kept_bytes(problem, tile);
  Traffic bytes = gradient_sum_traffic(problem, sums(problem, tile));
  bytes.read_bytes += host::token_reads(problem) + value_bytes(problem) +
                      host::states_read(problem) + kept + token_gradient_reads(problem) +
                      host::states_written(problem);
  bytes.write_bytes += kept + gradient_bytes(problem);
  return bytes;
}

/// The state twice, and 10KV for what comes of it and of its gradient, with the gates'.
double flops(const Problem& problem, const Tile&) {
  const double of_state = static_cast<double>(problem.shape.key_dim) * host::columns(problem);
  return host::tokens(problem) * of_state * (8 + 10);
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const RecurrentGradientLayout at = layout(problem, tile);
  Recipe r{"linear_recurrence/backward/recurrent/recurrent.cuh", constants(problem, tile), {}};
  const GradientSums shared = sums(problem, tile);
  for (const Constant& constant : gradient_constants(workspace(problem, tile), shared))
    r.constants.push_back(constant);
  const auto walk = [&](const char* entry) {
    r.steps.push_back(gradient_launch(entry, static_cast<double>(sequences(problem) * at.slices),
                                      at.threads, at.shared_bytes));
  };
  walk("gradient_forwards");
  for (const Step& step : output_gradient_steps(problem)) r.steps.push_back(step);
  walk("gradient_backwards");
  for (const Step& step : gradient_sum_steps(problem, shared)) r.steps.push_back(step);
  return r;
}

}  // namespace

Variant backward_recurrent(const Member& member) {
  return cuda_backward_variant(
      member, {"recurrent",
               "token by token, back from states that are kept every few tokens; no tensor cores",
               space(),
               {"linear_recurrence/backward/recurrent/recurrent.cuh",
                "linear_recurrence/backward/recurrent/recurrent.cpp"},
               [](const Problem&, const Tile&) { return Arithmetic::float32; },
               reject,
               traffic,
               flops,
               workspace,
               recipe});
}

}  // namespace gla_bench::linear_recurrence
