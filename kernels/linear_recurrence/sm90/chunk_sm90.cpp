// Host side of chunk_sm90.cuh. There is one launch, or two where sequences are cut into segments
// whose states pass through device memory. Bulk copies bring the tensors in.

#include "kernels/linear_recurrence/sm90/chunk_sm90.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/sm90/layout.h"
#include "kernels/linear_recurrence/sm90/parts.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"
#include "kernels/memory.hpp"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr std::size_t maps = 5;
/// The most keys of a block: where each warpgroup has one tile of columns, and where it has two.
constexpr int most_keys = 256, most_keys_of_two_tiles = 128;
/// The least tokens of a sequence, on average. Of drawn problems with fewer than 8, some passed the
/// cap of bfloat16 by 6 %; from 8 on none came nearer than to 86 % of its bounds.
constexpr std::int64_t least_tokens = 16;

TileSpace space() {
  return {{"value_groups", {2, 1}, "groups of four warps that hold a block's state"},
          {"value_tiles", {1, 2}, "tiles of 64 columns of V that each of them owns"},
          {"cluster", {1, 2, 4}, "blocks that share the keys and add their outputs up"},
          {"preparers", {1, 2, 3}, "groups of four warps that prepare chunks"},
          {"stages", {3, 2, 4, 5}, "chunks in shared memory, on their way or being worked on"},
          {"segments", {1, 2, 3, 4, 8, 16, 32}, "parts of a sequence, side by side"},
          {"parted", {0, 1, 2, 4, 8}, "sequences that are in segments, the last so many; 0: all"},
          {"on_chip",
           {0, 1},
           "1: each group that prepares has chunks of its own, and a sequence's segments are a "
           "cluster whose blocks pass the state on, in one launch"}};
}

bool key_gates(const Problem& problem) {
  return member_of(problem).decay == Decay::per_key;
}

bool on_chip(const Tile& tile) {
  return choice(tile, "on_chip") != 0;
}
/// Whether segments pass their states on through shared memory.
bool joined(const Tile& tile) {
  return on_chip(tile) && choice(tile, "segments") > 1;
}

ChunkSm90Layout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim),
          choice(tile, "cluster"),
          choice(tile, "value_groups"),
          choice(tile, "value_tiles"),
          choice(tile, "preparers"),
          choice(tile, "stages"),
          key_gates(problem),
          on_chip(tile),
          joined(tile),
          key_gates(problem) && gate_bytes_each(problem) == 4};
}

std::int64_t slices(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, 64 * layout(problem, tile).values);
}
/// Blocks that one part of a sequence has.
std::int64_t blocks(const Problem& problem, const Tile& tile) {
  return slices(problem, tile) * choice(tile, "cluster");
}

/// Number of sequences that are cut into segments. All of them have the same number of segments.
std::int64_t parted(const Problem& problem, const Tile& tile) {
  const int last = choice(tile, "parted");
  return last > 0 ? last : sequences(problem);
}
double share_parted(const Problem& problem, const Tile& tile) {
  return static_cast<double>(parted(problem, tile)) / static_cast<double>(sequences(problem));
}

/// Segments whose states and decays are kept in device memory: all but the last of each sequence.
std::int64_t kept(const Problem& problem, const Tile& tile) {
  return joined(tile) ? 0 : parted(problem, tile) * (choice(tile, "segments") - 1);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  if (kept(problem, tile) == 0) return {};
  const ChunkSm90Layout sizes = layout(problem, tile);
  const std::int64_t columns = slices(problem, tile) * 64 * sizes.values;
  const std::int64_t keys = sizes.keys * sizes.cluster, decays = key_gates(problem) ? keys : 1;
  return {{"segment_states", static_cast<std::size_t>(4 * kept(problem, tile) * keys * columns)},
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
  // Decayed q and k, and the scores formed from them, are rounded. Sums over tokens average the
  // errors out. In a sequence of a few tokens, one rounding may be the whole error. So it is where
  // the blocks of a cluster each round the scores of their own keys.
  if (s.seq < least_tokens * std::max<std::int64_t>(1, s.sequences))
    return "sequences of less than " + std::to_string(least_tokens) +
           " tokens on average are for the forms that round less";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes";
  if (flag(problem, "normalize")) return "has no normalizer";
  if (option(problem, "feature_map") == "elu_plus_one") return "has no feature map";
  return std::nullopt;
}

/// Refuses what the number of keys that a block holds the state of does not allow.
std::optional<std::string> refuse_keys(const Problem& problem, const Tile& tile) {
  const std::int64_t keys = problem.shape.key_dim, cluster = choice(tile, "cluster");
  if (cluster > 1 && keys <= 64 * cluster) return "fewer blocks have 64 keys each";
  if (cluster > 1 && choice(tile, "value_groups") == 1)
    return "one group of warps would wait for another block's sums before it sends its own";
  if (layout(problem, tile).values % cluster != 0)
    return "each block of a cluster adds up tiles of its own";
  const bool two = choice(tile, "value_tiles") > 1;
  const int most = two ? most_keys_of_two_tiles : most_keys;
  if (const std::int64_t own = ceil_div(keys, cluster); own > most)
    return "the registers hold the state of " + std::to_string(most) + " keys, " +
           std::to_string(own) + " are a block's";
  return std::nullopt;
}

std::optional<std::string> refuse_groups(const Problem& problem, const Tile& tile) {
  const ChunkSm90Layout sizes = layout(problem, tile);
  if (sizes.values > 1 && 32 * sizes.values >= problem.shape.value_dim)
    return "half as many columns cover value_dim";
  if (sizes.value_groups > 1 && sizes.preparers > 1)
    return "the registers hold two groups of values or two that prepare, not both";
  if (sizes.keys <= 128) return std::nullopt;
  if (sizes.value_groups > 1) return "the registers hold one group's state of more than 128 keys";
  if (key_gates(problem) && sizes.preparers == 1)
    return "one group of warps can not prepare more than 128 keys";
  return std::nullopt;
}

/// The most chunks of a segment that has others before and behind it (block.cuh). Such a segment is
/// walked twice.
std::int64_t walked_twice(const Problem& problem, const Tile& tile) {
  const std::int64_t segments = choice(tile, "segments");
  if (!joined(tile) || segments == 2) return 0;
  const std::int64_t chunks = ceil_div(problem.shape.seq, ChunkSm90Layout::tokens);
  if (ragged(problem)) return ceil_div(chunks, segments);
  std::int64_t most = 0;
  for (std::int64_t s = 1; s + 1 < segments; ++s)
    most = std::max(most, ceil_div((s + 1) * chunks, segments) - ceil_div(s * chunks, segments));
  return most;
}

std::optional<std::string> refuse_on_chip(const Problem& problem, const Tile& tile) {
  const int preparers = choice(tile, "preparers"), segments = choice(tile, "segments");
  if (!on_chip(tile)) {
    if (preparers > 2) return "three groups that prepare have chunks of their own";
    return std::nullopt;
  }
  const ChunkSm90Layout sizes = layout(problem, tile);
  if (sizes.cluster > 1) return "a cluster's blocks share keys, or are segments, not both";
  if (segments > 8) return "a cluster has no more than eight blocks";
  if (preparers == 1 && segments == 1) return "one group has all chunks as it is";
  if (preparers > sizes.stages) return "groups that prepare would pass a stage's chunks over";
  if (sizes.keys > 128 && key_gates(problem))
    return "one group of warps can not prepare more than 128 keys";
  if (preparers > 2 && (sizes.keys > 64 || sizes.values > 1))
    return "the registers hold three groups that prepare beside 64 keys and one tile of V";
  if (const std::int64_t chunks = walked_twice(problem, tile); chunks > sizes.stages)
    return "a segment that is walked twice has " + std::to_string(chunks) +
           " chunks, shared memory holds " + std::to_string(sizes.stages);
  return std::nullopt;
}

std::optional<std::string> refuse_segments(const Problem& problem, const Tile& tile) {
  const int segments = choice(tile, "segments");
  if (segments > 1 && problem.shape.seq < 128 * segments) return "segments of less than two chunks";
  // Where gates are strong, the last segment needs no state of the others and is done before the
  // first has read the initial state.
  if (segments > 1 && !joined(tile) && flag(problem, "in_place"))
    return "segments in blocks of their own: the last one writes the state in place that the first "
           "one reads";
  if (choice(tile, "parted") == 0) return std::nullopt;
  if (segments == 1) return "no sequence is in segments";
  if (joined(tile)) return "a sequence's segments are a cluster, as those of all others";
  if (parted(problem, tile) >= sequences(problem)) return "all sequences are in segments";
  return std::nullopt;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (limits.arch != 90) return "needs sm_90a: wgmma and bulk tensor copies";
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_states(problem)) return reason;
  if (auto reason = refuse_problem(problem)) return reason;
  if (auto reason = refuse_keys(problem, tile)) return reason;
  if (auto reason = refuse_groups(problem, tile)) return reason;
  if (auto reason = refuse_segments(problem, tile)) return reason;
  if (auto reason = refuse_on_chip(problem, tile)) return reason;
  if (auto reason = refuse_shared(layout(problem, tile).bytes, limits)) return reason;
  if (auto reason = refuse_workspace(workspace_bytes(problem, tile), limits)) return reason;
  return refuse_blocks(static_cast<double>(sequences(problem)) *
                       static_cast<double>(blocks(problem, tile) * choice(tile, "segments")));
}

/// The slices of a sequence walk it side by side, so the L2 cache serves all reads of a token but
/// the first. With segments, all but the last are read once more, without q, to form their states.
/// That does not apply if the states stay on the chip.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const double states = state_bytes(problem), kept = workspace_bytes(problem, tile);
  const double segments = joined(tile) ? 1 : choice(tile, "segments");
  const double again = key_bytes(problem) + gate_bytes(problem) + value_bytes(problem);
  return {2 * key_bytes(problem) + gate_bytes(problem) + small_bytes(problem) +
              value_bytes(problem) + (problem.initial_state ? states : 0) +
              again * share_parted(problem, tile) * (segments - 1) / segments + kept,
          value_bytes(problem) + (problem.final_state ? states : 0) + kept};
}

double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const double tokens = static_cast<double>(s.batch * s.seq) * static_cast<double>(s.heads);
  const auto keys = static_cast<double>(s.key_dim), values = static_cast<double>(s.value_dim);
  const double scores =
      65 * (keys * static_cast<double>(slices(problem, tile)) + values * choice(tile, "cluster"));
  // Segments that are walked once more to form their states: not the last one. The first one is
  // also excluded if it passes its own state on.
  const double segments = choice(tile, "segments"), once = joined(tile) ? 2 : 1;
  const double again = share_parted(problem, tile) * (segments - once) / segments;
  return tokens * (4 * keys * values + scores + 2 * keys * values * again);
}

std::vector<TensorMap> token_maps(const Problem& problem) {
  const std::int64_t keys = problem.shape.key_dim, values = problem.shape.value_dim;
  const DType dtype = problem.dtype;
  const LinearRecurrenceParams p = params(problem, [](std::string_view) { return nullptr; }, {});
  std::vector<TensorMap> list{token_map(problem, 0, "q", dtype, keys, p.key_strides),
                              token_map(problem, 1, "k", dtype, keys, p.key_strides),
                              token_map(problem, 2, "v", dtype, values, p.value_strides),
                              token_map(problem, 4, "o", dtype, values, p.output_strides)};
  const Member& member = member_of(problem);
  if (member.decay == Decay::per_key)
    list.push_back(
        token_map(problem, 3, std::string(member.gate), gate_dtype(problem), keys, p.gate_strides));
  return list;
}

Recipe recipe_of(const Problem& problem, const Tile& tile, bool keeps_states) {
  const ChunkSm90Layout sizes = layout(problem, tile);
  Recipe r{"linear_recurrence/sm90/chunk_sm90.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "keeps_states", keeps_states ? 1 : 0});
  const auto launch = [&](const char* entry, std::int64_t segments) {
    return KernelLaunch{entry,
                        {static_cast<unsigned>(segments * blocks(problem, tile)), 1, 1},
                        {static_cast<unsigned>(sizes.threads), 1, 1},
                        static_cast<std::size_t>(sizes.bytes)};
  };
  if (kept(problem, tile) > 0) r.steps.push_back(launch("chunk_sm90_states", kept(problem, tile)));
  const std::int64_t whole = sequences(problem) - parted(problem, tile);
  KernelLaunch outputs =
      launch("chunk_sm90", whole + parted(problem, tile) * choice(tile, "segments"));
  outputs.overlaps = !r.steps.empty();
  r.steps.push_back(std::move(outputs));
  r.tensor_maps = token_maps(problem);
  return r;
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  return recipe_of(problem, tile, false);
}

CudaForm form() {
  return {"chunk_sm90",
          "chunk_fused for sm_90a: bulk copies, warps with roles, wgmma",
          space(),
          {"linear_recurrence/sm90/chunk_sm90.cuh", "linear_recurrence/sm90/chunk_sm90.cpp",
           "linear_recurrence/sm90/parts.cpp", "tensor_maps.cpp"},
          [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
          reject,
          traffic,
          flops,
          workspace,
          recipe};
}

// --- the forward of training

std::optional<std::string> reject_with_states(const Problem& problem, const Tile& tile,
                                              const Limits& limits) {
  if (auto reason = reject(problem, tile, limits)) return reason;
  if (ragged(problem)) return "keeps states of sequences of one length";
  if (choice(tile, "cluster") > 2) return "keeps states of one or two blocks for all keys";
  return refuse_workspace(workspace_bytes(problem, tile) + kept_state_bytes(problem), limits);
}

Traffic traffic_with_states(const Problem& problem, const Tile& tile) {
  Traffic bytes = traffic(problem, tile);
  bytes.write_bytes += kept_state_bytes(problem);
  return bytes;
}

std::vector<Region> workspace_with_states(const Problem& problem, const Tile& tile) {
  std::vector<Region> regions = workspace(problem, tile);
  regions.push_back({"chunk_states", static_cast<std::size_t>(kept_state_bytes(problem))});
  return regions;
}

Recipe recipe_with_states(const Problem& problem, const Tile& tile) {
  return recipe_of(problem, tile, true);
}

Variant variant_of(const Member& member, const CudaForm& form) {
  Variant variant = cuda_variant(member, form);
  bind_behind_maps(variant, maps);
  return variant;
}

}  // namespace

Variant chunk_sm90(const Member& member) {
  return variant_of(member, form());
}

Variant chunk_sm90_with_states(const Member& member) {
  CudaForm with_states = form();
  with_states.reject = reject_with_states;
  with_states.traffic = traffic_with_states;
  with_states.workspace = workspace_with_states;
  with_states.recipe = recipe_with_states;
  return variant_of(member, with_states);
}

}  // namespace gla_bench::linear_recurrence
