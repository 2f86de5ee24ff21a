// Host side of recurrent.cuh: one launch, no workspace.

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/recurrent_layout.h"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"block_v", {32, 64, 16}, "columns of V that a block owns"},
          {"lanes", {8, 16, 4, 2}, "threads that share the key dimensions of a column"},
          {"columns", {2, 4, 1}, "columns of V that a thread owns"},
          {"tokens", {8, 16}, "tokens that are staged together"},
          {"stages", {2, 3}, "steps of tokens in flight or in shared memory"}};
}

RecurrentLayout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(size_of(problem.dtype)),
          choice(tile, "block_v"),
          choice(tile, "lanes"),
          choice(tile, "columns"),
          choice(tile, "tokens"),
          choice(tile, "stages")};
}

std::int64_t slices(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, choice(tile, "block_v"));
}

/// The state and one exchange of sums; the rest of a thread's 255 registers is for operands.
constexpr int most_state_registers = 128;

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  const int block_v = choice(tile, "block_v");
  if (block_v > 32 && block_v / 2 >= problem.shape.value_dim)
    return "half of block_v=" + std::to_string(block_v) + " already covers value_dim";
  const RecurrentLayout at = layout(problem, tile);
  if (at.threads < 32 || at.threads > 1024)
    return std::to_string(at.threads) + " threads are not in 32..1024";
  const int state = at.slice * choice(tile, "columns");
  if (state > most_state_registers)
    return std::to_string(state) + " registers of state a thread, " +
           std::to_string(most_state_registers) + " are there";
  if (auto reason = refuse_shared(at.shared_bytes, limits)) return reason;
  return refuse_blocks(static_cast<double>(sequences(problem)) *
                       static_cast<double>(slices(problem, tile)));
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double states = state_bytes(problem);
  return {3 * key_bytes(problem) * static_cast<double>(slices(problem, tile)) +
              value_bytes(problem) + (problem.initial_state ? states : 0),
          value_bytes(problem) + (problem.final_state ? states : 0)};
}

/// Per token and state element: k v, decay and add, q S and add; per token and key: e^g, q scale.
double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const double tokens = static_cast<double>(sequences(problem)) * static_cast<double>(s.seq);
  const auto key = static_cast<double>(s.key_dim), value = static_cast<double>(s.value_dim);
  return tokens * key * (5 * value + 2 * static_cast<double>(slices(problem, tile)));
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const RecurrentLayout at = layout(problem, tile);
  Recipe r{"linear_recurrence/recurrent.cuh", constants(problem, tile), {}};
  const auto blocks = static_cast<unsigned>(sequences(problem) * slices(problem, tile));
  r.steps.push_back(KernelLaunch{"gla_recurrent",
                                 {blocks, 1, 1},
                                 {static_cast<unsigned>(at.threads), 1, 1},
                                 static_cast<std::size_t>(at.shared_bytes)});
  return r;
}

}  // namespace

Variant recurrent(const Member& member) {
  return cuda_variant(member,
                      {"recurrent",
                       "one pass over the tokens, the state in float32 registers, no tensor cores",
                       space(),
                       {"linear_recurrence/recurrent.cuh", "linear_recurrence/recurrent.cpp"},
                       [](const Problem&, const Tile&) { return Arithmetic::float32; },
                       reject,
                       traffic,
                       flops,
                       {},
                       recipe});
}

}  // namespace gla_bench::linear_recurrence
