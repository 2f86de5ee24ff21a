// Host side of chunk_sm90.cuh: one launch, or two where sequences are parted; tensors brought in by
// bulk copies.

#include "harness/operator.hpp"
#include "kernels/linear_recurrence/chunk_sm90.hpp"
#include "kernels/linear_recurrence/chunk_sm90_layout.h"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/refusal.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr std::size_t map_bytes = 128;
constexpr int most_keys = 256;

TileSpace space() {
  return {{"value_groups", {2, 1}, "64 columns of V each that a block owns, in four warps each"},
          {"preparers", {1, 2}, "groups of four warps that prepare chunks"},
          {"stages", {3, 2, 4}, "chunks in shared memory, on their way or being worked on"},
          {"segments", {1, 2, 4, 8, 16, 32}, "parts of a sequence, side by side"}};
}

bool key_gates(const Problem& problem) {
  return member_of(problem).decay == Decay::per_key;
}

ChunkSm90Layout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim), choice(tile, "value_groups"),
          choice(tile, "preparers"), choice(tile, "stages"), key_gates(problem)};
}

std::int64_t slices(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, 64 * choice(tile, "value_groups"));
}

/// Segments whose states and decays are kept: all but the last of each sequence.
std::int64_t kept(const Problem& problem, const Tile& tile) {
  return sequences(problem) * (choice(tile, "segments") - 1);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  if (choice(tile, "segments") == 1) return {};
  const ChunkSm90Layout sizes = layout(problem, tile);
  const std::int64_t columns = slices(problem, tile) * 64 * choice(tile, "value_groups");
  const std::int64_t decays = key_gates(problem) ? sizes.keys : 1;
  return {
      {"segment_states", static_cast<std::size_t>(4 * kept(problem, tile) * sizes.keys * columns)},
      {"segment_decays", static_cast<std::size_t>(4 * kept(problem, tile) * decays)}};
}

double workspace_bytes(const Problem& problem, const Tile& tile) {
  double bytes = 0;
  for (const Region& region : workspace(problem, tile)) bytes += static_cast<double>(region.bytes);
  return bytes;
}

std::optional<std::string> refuse_problem(const Problem& problem) {
  const Shape& s = problem.shape;
  if (problem.dtype != DType::bfloat16) return "takes bfloat16 alone";
  if (s.key_dim > most_keys)
    return "a state of " + std::to_string(s.key_dim) + " keys does not fit the registers, " +
           std::to_string(most_keys) + " are the most";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes";
  if (flag(problem, "normalize")) return "has no normalizer";
  if (option(problem, "feature_map") == "elu_plus_one") return "has no feature map";
  return std::nullopt;
}

std::optional<std::string> refuse_groups(const Problem& problem, const Tile& tile) {
  if (64 * (choice(tile, "value_groups") - 1) >= problem.shape.value_dim)
    return "one group of 64 columns covers value_dim";
  if (choice(tile, "value_groups") > 1 && choice(tile, "preparers") > 1)
    return "the registers hold two groups of values or two that prepare, not both";
  if (problem.shape.key_dim <= 128) return std::nullopt;
  if (choice(tile, "value_groups") > 1)
    return "the registers hold one group's state of more than 128 keys";
  if (key_gates(problem) && choice(tile, "preparers") == 1)
    return "one group of warps can not prepare more than 128 keys";
  return std::nullopt;
}

std::optional<std::string> refuse_segments(const Problem& problem, const Tile& tile) {
  const int segments = choice(tile, "segments");
  if (segments > 1 && problem.shape.seq < 128 * segments) return "segments of less than two chunks";
  return std::nullopt;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (limits.arch != 90) return "needs sm_90a: wgmma and bulk tensor copies";
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_problem(problem)) return reason;
  if (auto reason = refuse_groups(problem, tile)) return reason;
  if (auto reason = refuse_segments(problem, tile)) return reason;
  if (auto reason = refuse_shared(layout(problem, tile).bytes, limits)) return reason;
  if (auto reason = refuse_workspace(workspace_bytes(problem, tile), limits)) return reason;
  return refuse_blocks(static_cast<double>(sequences(problem)) *
                       static_cast<double>(slices(problem, tile) * choice(tile, "segments")));
}

/// Slices of a sequence walk it side by side: the L2 serves all but the first read of a token. With
/// segments all but the last are read once more, without q, for their states.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const double states = state_bytes(problem), kept = workspace_bytes(problem, tile);
  const double segments = choice(tile, "segments");
  const double again = key_bytes(problem) + gate_bytes(problem) + value_bytes(problem);
  return {2 * key_bytes(problem) + gate_bytes(problem) + small_bytes(problem) +
              value_bytes(problem) + (problem.initial_state ? states : 0) +
              again * (segments - 1) / segments + kept,
          value_bytes(problem) + (problem.final_state ? states : 0) + kept};
}

double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const double tokens = static_cast<double>(s.batch * s.seq) * static_cast<double>(s.heads);
  const auto keys = static_cast<double>(s.key_dim), values = static_cast<double>(s.value_dim);
  const double scores = 65 * (keys * static_cast<double>(slices(problem, tile)) + values);
  const double segments = choice(tile, "segments");
  return tokens * (4 * keys * values + scores + 2 * keys * values * (segments - 1) / segments);
}

/// A [B,T,H,columns] tensor in boxes of 64 tokens of one head.
TensorMap token_map(const Problem& problem, std::size_t place, std::string buffer,
                    std::int64_t columns) {
  const Shape& s = problem.shape;
  const bool seq_first = problem.layout == Layout::seq_first;
  return {place * map_bytes,
          std::move(buffer),
          problem.dtype,
          {columns, s.seq, s.heads, s.batch},
          {seq_first ? s.heads * columns : columns, seq_first ? columns : s.seq * columns,
           s.seq * s.heads * columns},
          {64, 64, 1, 1},
          128};
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const ChunkSm90Layout sizes = layout(problem, tile);
  Recipe r{"linear_recurrence/chunk_sm90.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  const auto launch = [&](const char* entry, std::int64_t segments) {
    return KernelLaunch{entry,
                        {static_cast<unsigned>(segments * slices(problem, tile)), 1, 1},
                        {static_cast<unsigned>(sizes.threads), 1, 1},
                        static_cast<std::size_t>(sizes.bytes)};
  };
  if (kept(problem, tile) > 0) r.steps.push_back(launch("chunk_sm90_states", kept(problem, tile)));
  r.steps.push_back(launch("chunk_sm90", sequences(problem) * choice(tile, "segments")));
  const std::int64_t keys = problem.shape.key_dim, values = problem.shape.value_dim;
  r.tensor_maps = {token_map(problem, 0, "q", keys), token_map(problem, 1, "k", keys),
                   token_map(problem, 2, "v", values), token_map(problem, 4, "o", values)};
  const Member& member = member_of(problem);
  if (member.decay == Decay::per_key)
    r.tensor_maps.push_back(token_map(problem, 3, std::string(member.gate), keys));
  return r;
}

}  // namespace

Variant chunk_sm90(const Member& member) {
  Variant variant = cuda_variant(
      member, {"chunk_sm90",
               "chunk_fused for sm_90a: bulk copies, warps with roles, wgmma",
               space(),
               {"linear_recurrence/chunk_sm90.cuh", "linear_recurrence/chunk_sm90.cpp"},
               [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
               reject,
               traffic,
               flops,
               workspace,
               recipe});
  // Five maps stand before the family's parameters, in a struct that they align.
  variant.bind = [bind = variant.bind](const Problem& problem, const Tile& tile,
                                       const Address& address) {
    ParamBytes bytes = bind(problem, tile, address);
    bytes.insert(bytes.begin(), 5 * map_bytes, std::byte{0});
    bytes.resize((bytes.size() + 63) / 64 * 64);
    return bytes;
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
