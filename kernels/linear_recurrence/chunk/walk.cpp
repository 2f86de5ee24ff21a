#include "kernels/linear_recurrence/chunk/walk.hpp"

#include <algorithm>

#include "core/operator.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr int registers_per_multiprocessor = 65536;
constexpr int registers_per_thread = 255;

/// Registers besides the accumulators: addresses and operands that are being loaded.
int other_registers(const Tile& tile) {
  return (choice(tile, "terms") == 3 ? 88 : 56) + (choice(tile, "warp_v") > 16 ? 12 : 0);
}

std::optional<std::string> refuse_split(const Problem& problem, const Tile& tile) {
  const int block_v = choice(tile, "block_v"), warp_v = choice(tile, "warp_v");
  const int warps_k = choice(tile, "warps_k");
  const std::int64_t keys = ceil_div(problem.shape.key_dim, 16);
  if (block_v % warp_v != 0)
    return "block_v=" + std::to_string(block_v) + " is not a multiple of warp_v";
  if (block_v > 16 && block_v / 2 >= problem.shape.value_dim)
    return "half of block_v=" + std::to_string(block_v) + " already covers value_dim";
  if (warps_k > keys)
    return "warps_k=" + std::to_string(warps_k) + " leaves warps without a step of 16 keys";
  return std::nullopt;
}

std::optional<std::string> refuse_resources(const WalkShape& shape, const Tile& tile,
                                            const Limits& limits) {
  const WalkLayout layout{shape};
  const int residency = choice(tile, "residency");
  if (layout.threads > 1024)
    return std::to_string(layout.threads) + " threads are more than 1024 a block";
  const int limit = std::min(registers_per_thread,
                             registers_per_multiprocessor / (layout.threads * residency) / 8 * 8);
  const int needed = layout.accumulators + other_registers(tile);
  if (needed > limit)
    return "about " + std::to_string(needed) + " registers a thread, " + std::to_string(limit) +
           " are there";
  // Each resident block takes 1 KiB besides its own shared memory.
  return refuse_shared(std::int64_t{residency} * (layout.bytes + 1024) - 1024, limits);
}

}  // namespace

TileSpace walk_axes(const Member& member) {
  const bool per_key = member.decay == Decay::per_key;
  return {
      {"block_v", {64, 128, 32, 256, 16}, "columns of V that a block owns"},
      {"warp_v", {16, 32}, "columns of V that a warp owns"},
      {"warps_k", {2, 1, 4}, "warps that share K for the same columns of V"},
      {"stages", per_key ? std::vector{2, 1} : std::vector{2, 3, 1},
       per_key ? "chunks in shared memory: 2 loads the next during the current one"
               : "chunks in shared memory: 2 loads the next during the current one, 3 forms its "
                 "scores too"},
      {"residency", {1, 2}, "blocks that must fit into a multiprocessor together"},
      {"terms", {1, 3}, "tf32 products per float32 product: 1 is tf32, 3 close to float32"}};
}

WalkShape walk_shape(const Problem& problem, const Tile& tile, int chunk, bool outputs) {
  const bool bfloat16 = problem.dtype == DType::bfloat16 && problem.shape.key_dim >= 16;
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(size_of(problem.dtype)),
          gate_bytes_each(problem),
          bfloat16 ? 2 : 4,
          chunk,
          choice(tile, "block_v"),
          choice(tile, "warp_v"),
          choice(tile, "warps_k"),
          choice(tile, "stages"),
          outputs,
          static_cast<int>(member_of(problem).decay),
          member_of(problem).before_update,
          flag(problem, "normalize")};
}

std::optional<std::string> refuse_walk(const Problem& problem, const Tile& tile, int chunk,
                                       const Limits& limits) {
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_terms(problem, choice(tile, "terms"))) return reason;
  if (auto reason = refuse_split(problem, tile)) return reason;
  return refuse_resources(walk_shape(problem, tile, chunk, true), tile, limits);
}

Arithmetic walk_arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "terms"));
}

std::int64_t walk_slices(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, choice(tile, "block_v"));
}

double walk_gate_bytes(const Problem& problem) {
  return gate_bytes(problem) + small_bytes(problem);
}

double walk_flops(const Problem& problem, const Tile& tile, int chunk, bool outputs) {
  const Shape& s = problem.shape;
  const double tokens = static_cast<double>(s.batch * s.seq) * static_cast<double>(s.heads);
  const auto keys = static_cast<double>(s.key_dim), values = static_cast<double>(s.value_dim);
  const auto slices = static_cast<double>(walk_slices(problem, tile));
  const double states = 2 * keys * values;
  // On average a token meets (chunk + 1) / 2 tokens of its chunk. Every slice computes the scores
  // again.
  const double scores = (chunk + 1) * (keys * slices + values);
  // The normalizer. Each slice adds up k. With outputs it also multiplies q by z and adds up
  // scores.
  const double sums = !flag(problem, "normalize") ? 0
                      : outputs                   ? (3 * keys + (chunk + 1) / 2.0) * slices
                                                  : keys * slices;
  const double bonus = outputs && member_of(problem).before_update ? 3 * keys * slices : 0;
  return tokens * ((outputs ? 2 * states + scores : states) + sums + bonus);
}

}  // namespace gla_bench::linear_recurrence
