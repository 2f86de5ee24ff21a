// Host side of parallel.cuh: one launch for the outputs, and one for the final state where it is
// asked for.

#include <algorithm>
#include <cmath>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/quadratic/layout.h"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"block", {64, 32, 128}, "query rows of a block, and keys that they meet at once"},
          {"block_k", {64, 32, 128}, "key dimensions in hand at once"},
          {"block_v", {64, 32, 128}, "columns of V that a block owns"},
          {"terms", {1, 3}, "tf32 products per float32 product: 3 gives float32's accuracy"}};
}

ParallelLayout layout(const Problem& problem, const Tile& tile) {
  const int key = static_cast<int>(problem.shape.key_dim);
  const Member& member = member_of(problem);
  const bool key_gates = member.decay == Decay::per_key;
  const bool scalar = member.decay == Decay::per_head || member.decay == Decay::per_token;
  const int operand = operand_bytes(problem);
  const bool exact =
      operand == 2 || (problem.dtype == DType::float32 && choice(tile, "terms") == 3);
  const bool raw = !key_gates && exact && option(problem, "feature_map") != "elu_plus_one";
  return {key,
          static_cast<int>(problem.shape.value_dim),
          static_cast<int>(size_of(problem.dtype)),
          gate_bytes_each(problem),
          operand,
          choice(tile, "block"),
          choice(tile, "block_k"),
          choice(tile, "block_v"),
          key_gates,
          scalar,
          member.before_update || flag(problem, "normalize"),
          !raw};
}

double slices(const Problem& problem, const Tile& tile) {
  return static_cast<double>(ceil_div(problem.shape.value_dim, choice(tile, "block_v")));
}

/// Tokens of a sequence; the average where sequences are ragged.
double length(const Problem& problem) {
  const auto seq = static_cast<double>(problem.shape.seq);
  return ragged(problem) ? seq / static_cast<double>(problem.shape.sequences) : seq;
}

/// Query blocks of a sequence, and pairs of blocks that its walks visit if no decay dies out.
double query_blocks(const Problem& problem, const Tile& tile) {
  return std::ceil(length(problem) / choice(tile, "block"));
}
double block_pairs(const Problem& problem, const Tile& tile) {
  const double blocks = query_blocks(problem, tile);
  return blocks * (blocks + 1) / 2;
}

/// Blocks of tokens that a head has in the grid. Ragged sequences share them. Sequence n starts at
/// cu_seqlens[n] / block + n, which leaves each sequence at least as many as it needs.
std::int64_t head_blocks(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const std::int64_t block = choice(tile, "block");
  return ragged(problem) ? s.seq / block + s.sequences : s.batch * ceil_div(s.seq, block);
}

/// Registers for the accumulators of scores and outputs and for what surrounds them. With three
/// terms every operand is split.
int registers(const Tile& tile) {
  const int block = choice(tile, "block");
  return block / 2 + choice(tile, "block_v") / 2 + 64 + (choice(tile, "terms") == 3 ? block : 0);
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_states(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_terms(problem, choice(tile, "terms"))) return reason;
  const int block_k = choice(tile, "block_k"), block_v = choice(tile, "block_v");
  if (block_v > 64 && block_v / 2 >= problem.shape.value_dim)
    return "half of block_v=" + std::to_string(block_v) + " already covers value_dim";
  if (block_k > 64 && block_k / 2 >= problem.shape.key_dim)
    return "half of block_k=" + std::to_string(block_k) + " already covers key_dim";
  if (registers(tile) > 255)
    return "about " + std::to_string(registers(tile)) + " registers a thread, 255 are there";
  const ParallelLayout at = layout(problem, tile);
  if (auto reason = refuse_shared(at.shared_bytes, limits)) return reason;
  if (auto reason = refuse_blocks(
          (static_cast<double>(problem.shape.batch) * (query_blocks(problem, tile) + 1) +
           static_cast<double>(problem.shape.sequences)) *
          static_cast<double>(problem.shape.heads) * slices(problem, tile)))
    return reason;
  return refuse_blocks(static_cast<double>(sequences(problem)) * at.chunks * slices(problem, tile));
}

/// Keys and gates of every pair of blocks are used once per slice, values once, queries on the
/// diagonal. Each launch reads its operands from device memory once. The query blocks of one
/// sequence run at the same time and meet the same keys, so the L2 cache serves all reads but the
/// first.
Traffic traffic(const Problem& problem, const Tile&) {
  const double states = state_bytes(problem), key = key_bytes(problem),
               value = value_bytes(problem), gate = gate_bytes(problem);
  const double initial = problem.initial_state ? states : 0;
  Traffic bytes{2 * key + gate + value + small_bytes(problem) + initial, value};
  if (problem.final_state) {
    bytes.read_bytes += key + gate + value + initial;
    bytes.write_bytes += states;
  }
  return bytes;
}

double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const auto key = static_cast<double>(s.key_dim), value = static_cast<double>(s.value_dim);
  const double block = choice(tile, "block"), batch = static_cast<double>(sequences(problem));
  const double pair = 2 * block * block * (key * slices(problem, tile) + value);
  const double states = 2 * length(problem) * key * value;
  return batch * (pair * block_pairs(problem, tile) + (problem.initial_state ? states : 0) +
                  (problem.final_state ? states : 0));
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const ParallelLayout at = layout(problem, tile);
  Recipe r{"linear_recurrence/quadratic/parallel.cuh", constants(problem, tile), {}};
  const auto across = ceil_div(problem.shape.value_dim, choice(tile, "block_v"));
  const auto grid = [&](std::int64_t tasks) {
    return Dim3{static_cast<unsigned>(tasks * across), 1, 1};
  };
  r.steps.push_back(KernelLaunch{"gla_parallel",
                                 grid(problem.shape.heads * head_blocks(problem, tile)),
                                 {static_cast<unsigned>(at.threads), 1, 1},
                                 static_cast<std::size_t>(at.shared_bytes)});
  if (problem.final_state)
    r.steps.push_back(KernelLaunch{"gla_parallel_state",
                                   grid(sequences(problem) * at.chunks),
                                   {static_cast<unsigned>(at.state_threads), 1, 1},
                                   static_cast<std::size_t>(at.state_shared_bytes)});
  return r;
}

}  // namespace

Variant parallel(const Member& member) {
  return cuda_variant(
      member,
      {"parallel",
       "quadratic in T, fused: scores never leave the chip, dead blocks are skipped",
       space(),
       {"linear_recurrence/quadratic/parallel.cuh", "linear_recurrence/quadratic/parallel.cpp"},
       [](const Problem& problem, const Tile& tile) {
         return product_arithmetic(problem, choice(tile, "terms"));
       },
       reject,
       traffic,
       flops,
       {},
       recipe});
}

}  // namespace gla_bench::linear_recurrence
