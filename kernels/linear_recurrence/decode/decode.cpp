// Host side of decode.cuh: one launch, no workspace.

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/decode/layout.h"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"block_v", {32, 16, 64, 8, 128}, "columns of V that a block owns"},
          {"elements", {32, 16, 64, 8}, "elements of the state that a thread holds"}};
}

bool bfloat16_state(const Problem& problem) {
  return option(problem, "state_dtype") == "bfloat16";
}

DecodeLayout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          bfloat16_state(problem) ? 2 : 4,
          option(problem, "state_layout") == "value_first",
          choice(tile, "block_v"),
          choice(tile, "elements")};
}

std::int64_t slices(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, choice(tile, "block_v"));
}

/// Number of slices of V that one block takes in turn. If the normalizer is updated in place, one
/// block takes all of them, because every slice reads the whole normalizer.
std::int64_t slices_per_block(const Problem& problem, const Tile& tile) {
  return flag(problem, "normalize") && flag(problem, "in_place") ? slices(problem, tile) : 1;
}

/// Blocks of one sequence and head.
std::int64_t blocks(const Problem& problem, const Tile& tile) {
  return ceil_div(slices(problem, tile), slices_per_block(problem, tile));
}

/// Tokens that are staged together. The kernel has this number as a constant.
std::int64_t staged_tokens(const Problem& problem) {
  return ragged(problem) ? decode_tokens : std::min<std::int64_t>(problem.shape.seq, decode_tokens);
}

std::int64_t shared_bytes(const Problem& problem, const DecodeLayout& at) {
  return 4 * (staged_tokens(problem) * at.token_floats +
              (flag(problem, "normalize") ? at.normalizer_floats : 0));
}

/// Registers besides the state's elements: addresses, sums, operands.
constexpr int other_registers = 48;

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_states(problem)) return reason;
  if (auto reason = refuse_long_sequences(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  const int block_v = choice(tile, "block_v"), elements = choice(tile, "elements");
  if (block_v > 8 && block_v / 2 >= problem.shape.value_dim && block_v != 32)
    return "half of block_v=" + std::to_string(block_v) + " already covers value_dim";
  const std::int64_t count = sequences(problem) / problem.shape.heads;
  if (count > 65535) return std::to_string(count) + " sequences, a grid holds 65535";
  const DecodeLayout at = layout(problem, tile);
  if (at.rows == 0)
    return "elements=" + std::to_string(elements) + " are less than one row of a warp's";
  if (at.threads > 1024) return std::to_string(at.threads) + " threads are more than 1024";
  if (at.threads * (elements + other_registers) > 65536)
    return std::to_string(at.threads) + " threads with " + std::to_string(elements) +
           " elements each need more than 65536 registers";
  if (auto reason = refuse_shared(shared_bytes(problem, at), limits)) return reason;
  return refuse_blocks(static_cast<double>(sequences(problem)) *
                       static_cast<double>(slices(problem, tile)));
}

/// Every slice reads q, k, the gates and z.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto times = static_cast<double>(slices(problem, tile));
  const double states = state_bytes(problem);
  const double normalizer =
      flag(problem, "normalize") && problem.initial_state
          ? static_cast<double>(sequences(problem) * problem.shape.key_dim) * 4
          : 0;
  return {times * (2 * key_bytes(problem) + gate_bytes(problem)) + value_bytes(problem) +
              small_bytes(problem) + (problem.initial_state ? states : 0) +
              (times - 1) * normalizer,
          value_bytes(problem) + (problem.final_state ? states : 0)};
}

/// Operations per token and state element: k v and its addition, q S and its addition, the decay,
/// the bonus and its addition. Per token, slice and key: q scaled, e^g, q u k, z and q z.
double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const Member& member = member_of(problem);
  const double tokens =
      static_cast<double>(s.batch) * static_cast<double>(s.seq) * static_cast<double>(s.heads);
  const bool decays = member.decay != Decay::none;
  const double element = 4 + (decays ? 1 : 0) + (member.before_update ? 2 : 0);
  const double key =
      1 + (decays ? 1 : 0) + (member.before_update ? 2 : 0) + (flag(problem, "normalize") ? 3 : 0);
  return tokens * static_cast<double>(s.key_dim) *
         (element * static_cast<double>(s.value_dim) +
          key * static_cast<double>(slices(problem, tile)));
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const DecodeLayout at = layout(problem, tile);
  Recipe r{"linear_recurrence/decode/decode.cuh", constants(problem, tile), {}};
  r.constants.push_back(
      {"decode_form", "slices_per_block", static_cast<int>(slices_per_block(problem, tile))});
  r.constants.push_back({"decode_form", "tokens", static_cast<int>(staged_tokens(problem))});
  const std::int64_t heads = problem.shape.heads;
  r.steps.push_back(KernelLaunch{"decode",
                                 {static_cast<unsigned>(heads * blocks(problem, tile)),
                                  static_cast<unsigned>(sequences(problem) / heads), 1},
                                 {static_cast<unsigned>(at.threads), 1, 1},
                                 static_cast<std::size_t>(shared_bytes(problem, at))});
  return r;
}

}  // namespace

Variant decode(const Member& member) {
  return cuda_variant(
      member, {"decode",
               "up to 8 tokens: the state read once, updated in registers, written once",
               space(),
               {"linear_recurrence/decode/decode.cuh", "linear_recurrence/decode/decode.cpp"},
               [](const Problem&, const Tile&) { return Arithmetic::float32; },
               reject,
               traffic,
               flops,
               {},
               recipe});
}

}  // namespace gla_bench::linear_recurrence
