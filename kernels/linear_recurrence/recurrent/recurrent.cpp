// Host side of recurrent.cuh: one launch, and a second one where normalizers are updated in place.

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/recurrent/layout.h"
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
  const Member& member = member_of(problem);
  const bool scalar = member.decay == Decay::per_head || member.decay == Decay::per_token;
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(size_of(problem.dtype)),
          gate_bytes_each(problem),
          choice(tile, "block_v"),
          choice(tile, "lanes"),
          choice(tile, "columns"),
          choice(tile, "tokens"),
          choice(tile, "stages"),
          member.decay == Decay::per_key,
          scalar,
          member.before_update,
          flag(problem, "normalize")};
}

std::int64_t slices(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, choice(tile, "block_v"));
}

/// The most registers that the state may take. Besides the state and one exchange of sums, a
/// thread's 255 registers hold operands and whatever the member needs.
int most_state_registers(const Problem& problem) {
  const Member& member = member_of(problem);
  if (member.before_update) return 64;
  return member.decay == Decay::per_head || member.decay == Decay::per_token ? 96 : 128;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_states_apart(problem, choice(tile, "tokens"), "tokens")) return reason;
  const int block_v = choice(tile, "block_v");
  if (block_v > 32 && block_v / 2 >= problem.shape.value_dim)
    return "half of block_v=" + std::to_string(block_v) + " already covers value_dim";
  const RecurrentLayout at = layout(problem, tile);
  if (at.threads < 32 || at.threads > 1024)
    return std::to_string(at.threads) + " threads are not in 32..1024";
  const int state = at.slice * choice(tile, "columns");
  const int most = most_state_registers(problem);
  if (state > most)
    return std::to_string(state) + " registers of state a thread, " + std::to_string(most) +
           " are there";
  if (auto reason = refuse_shared(at.shared_bytes, limits)) return reason;
  return refuse_blocks(static_cast<double>(sequences(problem)) *
                       static_cast<double>(slices(problem, tile)));
}

/// Whether normalizers that are updated in place are first written to a place beside them. Every
/// slice of V reads the initial normalizer, and one of them writes the final one.
bool normalizers_apart(const Problem& problem, const Tile& tile) {
  return flag(problem, "normalize") && flag(problem, "in_place") && problem.final_state &&
         slices(problem, tile) > 1;
}

std::size_t normalizer_elements(const Problem& problem) {
  return static_cast<std::size_t>(sequences(problem) * problem.shape.key_dim);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  if (!normalizers_apart(problem, tile)) return {};
  return {{"last_normalizers", normalizer_elements(problem) * 4}};
}

/// The slices of a sequence are neighbours in the grid and walk it together, so the L2 cache serves
/// all reads of a token but the first.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const double states = state_bytes(problem);
  double apart = 0;
  for (const Region& region : workspace(problem, tile)) apart += static_cast<double>(region.bytes);
  return {2 * key_bytes(problem) + gate_bytes(problem) + value_bytes(problem) +
              small_bytes(problem) + (problem.initial_state ? states : 0) + apart,
          value_bytes(problem) + written_state_bytes(problem) + apart};
}

/// Operations per token and state element: k v and its addition, q S and its addition, and its
/// decay with a gate per key. Per token and key: the factors of q and k (or e^g), and as much again
/// for the bonus or the normalizer.
double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const double tokens =
      static_cast<double>(s.batch) * static_cast<double>(s.seq) * static_cast<double>(s.heads);
  const Member& member = member_of(problem);
  const bool sums = member.before_update || flag(problem, "normalize");
  const auto key = static_cast<double>(s.key_dim), value = static_cast<double>(s.value_dim);
  const double each = member.decay == Decay::per_key ? 5 : 4, once = sums ? 5 : 2;
  return tokens * key * (each * value + once * static_cast<double>(slices(problem, tile)));
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const RecurrentLayout at = layout(problem, tile);
  Recipe r{"linear_recurrence/recurrent/recurrent.cuh", constants(problem, tile), {}};
  const auto blocks = static_cast<unsigned>(sequences(problem) * slices(problem, tile));
  r.steps.push_back(KernelLaunch{"gla_recurrent",
                                 {blocks, 1, 1},
                                 {static_cast<unsigned>(at.threads), 1, 1},
                                 static_cast<std::size_t>(at.shared_bytes)});
  if (normalizers_apart(problem, tile))
    r.steps.push_back(
        KernelLaunch{"gla_recurrent_normalizers",
                     {static_cast<unsigned>((normalizer_elements(problem) + 255) / 256), 1, 1},
                     {256, 1, 1},
                     0});
  return r;
}

}  // namespace

Variant recurrent(const Member& member) {
  return cuda_variant(
      member,
      {"recurrent",
       "one pass over the tokens, the state in float32 registers, no tensor cores",
       space(),
       {"linear_recurrence/recurrent/recurrent.cuh", "linear_recurrence/recurrent/recurrent.cpp"},
       [](const Problem&, const Tile&) { return Arithmetic::float32; },
       reject,
       traffic,
       flops,
       workspace,
       recipe});
}

}  // namespace gla_bench::linear_recurrence
