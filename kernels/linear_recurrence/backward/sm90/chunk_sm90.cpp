// Host side of the backward of chunk_sm90: a walk that keeps states, and one back that forms the
// gradients. Where sequences are cut into segments, another goes before them.

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/backward/sm90/layout.h"
#include "kernels/linear_recurrence/backward/variant.hpp"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/sm90/parts.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"
#include "kernels/memory.hpp"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr std::size_t maps = 8;
constexpr int sum_threads = 256;  // sums.cuh has the same
constexpr std::int64_t most_columns = 2 * GradientSm90Layout::slice;
/// The least tokens of a sequence whose state is cut into slices. Each slice rounds its own part of
/// the scores and of the results, and with few tokens one rounding may be the whole error.
constexpr std::int64_t least_tokens_of_slices = GradientSm90Layout::tokens;
/// The same where all keys of a token have one decay. Its gradient is what is left of terms as
/// large as the others' gradients; where there are few, or all of them decay, that may be their
/// roundings.
constexpr std::int64_t least_tokens_of_shared_decays = 16;
/// The least heads with constant decays. A gradient of fewer numbers may have the errors of one
/// sum: of 60 drawn problems with up to three heads, up to five passed a bound by a fifth.
constexpr std::int64_t least_constant_decays = 4;

TileSpace space() {
  return {{"stages", {2, 1, 3}, "chunks in shared memory, on their way or being worked on"},
          {"segments", {1, 2, 3, 4, 8, 16, 32}, "parts of a sequence, side by side"}};
}

GradientSm90Layout layout(const Problem& problem, const Tile& tile,
                          GradientPass pass = GradientPass::gradients) {
  const Decay decay = member_of(problem).decay;
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          std::max(1, choice(tile, "stages")),
          static_cast<int>(decay),
          decay == Decay::per_key && gate_bytes_each(problem) == 4,
          pass};
}

std::int64_t segments(const Tile& tile) {
  return std::max(1, choice(tile, "segments"));
}
/// Blocks of a walk over all slices.
std::int64_t blocks(const Problem& problem, const Tile& tile) {
  return sequences(problem) * segments(tile) * layout(problem, tile).slices;
}

/// The blocks of every slice of V have sums of their own, of a bonus.
GradientSums sums(const Problem& problem, const Tile& tile) {
  const GradientSm90Layout sizes = layout(problem, tile);
  const int parts = member_of(problem).before_update ? sizes.value_slices : 1;
  return {sizes.slices, sequences(problem) * segments(tile) * parts, 0};
}

/// Whether blocks leave terms of the gradients of decays per token.
bool has_gate_parts(const Problem& problem, const Tile& tile) {
  return member_of(problem).decay == Decay::per_token && layout(problem, tile).slices > 1;
}
double gate_part_bytes(const Problem& problem, const Tile& tile) {
  return has_gate_parts(problem, tile) ? layout(problem, tile).slices * host::float_rows(problem, 1)
                                       : 0.0;
}

double head_sum_bytes(const Problem& problem, const Tile& tile) {
  const GradientSums parts = sums(problem, tile);
  return has_head_sums(problem) ? 8.0 * static_cast<double>(parts.tasks) *
                                      static_cast<double>(problem.shape.key_dim + parts.slices)
                                : 0.0;
}

/// What all segments add to a state, to a gradient of one, or to both, in float32; and what they
/// leave of a key.
std::size_t segment_sum_bytes(const Problem& problem, const Tile& tile, States states) {
  const GradientSm90Layout sizes = layout(problem, tile);
  const std::int64_t sum = 1024 * sizes.key_blocks * sizes.value_blocks;
  return static_cast<std::size_t>((states == States::given ? 1 : 2) * sum * blocks(problem, tile));
}
std::size_t segment_factor_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<std::size_t>(256 * layout(problem, tile).key_tiles * blocks(problem, tile));
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile, States states) {
  std::vector<Region> regions{
      {"chunk_states", static_cast<std::size_t>(kept_state_bytes(problem))}};
  if (has_head_sums(problem))
    regions.push_back({sums_region, static_cast<std::size_t>(head_sum_bytes(problem, tile))});
  if (has_gate_parts(problem, tile))
    regions.push_back({"gate_parts", static_cast<std::size_t>(gate_part_bytes(problem, tile))});
  if (segments(tile) > 1) {
    regions.push_back({"segment_sums", segment_sum_bytes(problem, tile, states)});
    regions.push_back({"segment_factors", segment_factor_bytes(problem, tile)});
  }
  return regions;
}

std::optional<std::string> refuse_problem(const Problem& problem) {
  const Shape& s = problem.shape;
  if (problem.dtype != DType::bfloat16) return "takes bfloat16 alone";
  if (s.key_dim > most_columns || s.value_dim > most_columns)
    return "key_dim and value_dim go up to " + std::to_string(most_columns) +
           ": each gradient is the sum of two blocks' terms at most";
  if (std::max(s.key_dim, s.value_dim) > GradientSm90Layout::slice &&
      s.seq < least_tokens_of_slices)
    return "more than " + std::to_string(GradientSm90Layout::slice) +
           " keys or columns take sequences of at least " + std::to_string(least_tokens_of_slices) +
           " tokens";
  const Decay decay = member_of(problem).decay;
  if (decay == Decay::per_head && s.heads < least_constant_decays)
    return "constant decays take at least " + std::to_string(least_constant_decays) + " heads";
  if ((decay == Decay::per_token || decay == Decay::per_head) &&
      s.seq < least_tokens_of_shared_decays)
    return "decays that all keys share take sequences of at least " +
           std::to_string(least_tokens_of_shared_decays) + " tokens";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes";
  if (ragged(problem)) return "sequences have one length";
  if (flag(problem, "normalize")) return "has no normalizer";
  if (option(problem, "feature_map") == "elu_plus_one") return "has no feature map";
  return std::nullopt;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits,
                                  States states) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (limits.arch != 90) return "needs sm_90a: wgmma and bulk tensor copies";
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_problem(problem)) return reason;
  if (segments(tile) > 1 && problem.shape.seq < 128 * segments(tile))
    return "segments of less than two chunks";
  if (auto reason = refuse_shared(layout(problem, tile).bytes, limits)) return reason;
  return refuse_gradients(problem, workspace(problem, tile, states), sums(problem, tile), limits);
}

Traffic traffic(const Problem& problem, const Tile& tile, States states) {
  const Shape& s = problem.shape;
  const bool given = states == States::given;
  const double keys = key_bytes(problem), gates = gate_bytes(problem),
               values = value_bytes(problem), kept = kept_state_bytes(problem),
               head_sums = head_sum_bytes(problem, tile);
  const double parts = gate_part_bytes(problem, tile);
  Traffic bytes{kept + token_gradient_reads(problem) + host::states_written(problem) + head_sums +
                    small_bytes(problem) + parts,
                gradient_bytes(problem) + head_sums + parts};
  // What a second launch reads again, and adds to.
  const double of_keys = layout(problem, tile).value_slices - 1;
  const double of_values = layout(problem, tile).key_slices - 1;
  const double key_gates = member_of(problem).decay == Decay::per_key
                               ? host::float_rows(problem, static_cast<double>(s.key_dim))
                               : 0.0;
  const double added = of_keys * (2 * keys + key_gates) + of_values * values;
  bytes.read_bytes += of_keys * (2 * keys + gates) + of_values * 2 * values + added;
  bytes.write_bytes += added;
  if (!given) {
    bytes.read_bytes += keys + gates + values + host::states_read(problem);
    bytes.write_bytes += kept;
  }
  if (segments(tile) > 1) {
    // Several blocks read the sums of a segment, all but the first of them from the L2 cache.
    const double sums = static_cast<double>(segment_sum_bytes(problem, tile, states) +
                                            segment_factor_bytes(problem, tile));
    bytes.read_bytes += (given ? 1 : 2) * (keys + values) + gates + sums;
    bytes.write_bytes += sums;
  }
  return bytes;
}

/// Products of all keys and columns of V with the tokens: four that form the gradients, and one or
/// two for each walk forwards.
double flops(const Problem& problem, const Tile& tile, States states) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  const int formed = states == States::given ? 0 : 1;
  const int products = 4 + formed + (segments(tile) > 1 ? 1 + formed : 0);
  const GradientSm90Layout sizes = layout(problem, tile);
  return host::tokens(problem) *
         (2 * products * k * v + 65 * (3 * k * sizes.value_slices + 2 * v * sizes.key_slices));
}

std::vector<TensorMap> token_maps(const Problem& problem) {
  const Shape& s = problem.shape;
  const DType dtype = problem.dtype;
  const LinearRecurrenceParams p = params(problem, [](std::string_view) { return nullptr; }, {});
  const TokenStrides dense_keys = dense_strides(problem, s.seq, s.heads, s.key_dim);
  const TokenStrides dense_values = dense_strides(problem, s.seq, s.heads, s.value_dim);
  std::vector<TensorMap> list{token_map(problem, 0, "q", dtype, s.key_dim, p.key_strides),
                              token_map(problem, 1, "k", dtype, s.key_dim, p.key_strides),
                              token_map(problem, 2, "v", dtype, s.value_dim, p.value_strides),
                              token_map(problem, 4, "do", dtype, s.value_dim, dense_values),
                              token_map(problem, 5, "dq", dtype, s.key_dim, dense_keys),
                              token_map(problem, 6, "dk", dtype, s.key_dim, dense_keys),
                              token_map(problem, 7, "dv", dtype, s.value_dim, dense_values)};
  const Member& member = member_of(problem);
  if (member.decay == Decay::per_key)
    list.push_back(token_map(problem, 3, std::string(member.gate), gate_dtype(problem), s.key_dim,
                             p.gate_strides));
  return list;
}

Recipe recipe(const Problem& problem, const Tile& tile, States states) {
  Recipe r{"linear_recurrence/backward/sm90/chunk_sm90.cuh", constants(problem, tile), {}};
  const std::vector<Region> regions = workspace(problem, tile, states);
  for (const Constant& constant : gradient_constants(regions, sums(problem, tile)))
    r.constants.push_back(constant);
  // The last two regions, where there are any.
  for (const int i : {2, 1})
    r.constants.push_back({"work", i == 2 ? "segment_sums" : "segment_factors",
                           segments(tile) > 1 ? static_cast<int>(regions.size()) - i : 0});
  const GradientSm90Layout sizes = layout(problem, tile);
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "given_states", states == States::given ? 1 : 0});
  const auto walk = [&](const char* entry, GradientPass pass) {
    const GradientSm90Layout of = layout(problem, tile, pass);
    const std::int64_t count = sequences(problem) * segments(tile) * of.side_by_side;
    r.steps.push_back(gradient_launch(entry, static_cast<double>(count), of.threads, of.bytes));
  };
  const bool given = states == States::given;
  if (segments(tile) > 1)
    walk("chunk_sm90_segments", given ? GradientPass::changes : GradientPass::segments);
  if (!given) walk("chunk_sm90_keep_states", GradientPass::states);
  walk("chunk_sm90_gradients", GradientPass::gradients);
  if (sizes.rounds > 1) walk("chunk_sm90_more_gradients", GradientPass::gradients);
  const Shape& s = problem.shape;
  const auto add_up = [&](const char* entry, std::int64_t threads) {
    r.steps.push_back(
        gradient_launch(entry, static_cast<double>(ceil_div(threads, sum_threads)), sum_threads));
  };
  if (has_gate_parts(problem, tile)) add_up("chunk_sm90_gates", s.batch * s.seq * s.heads);
  if (has_head_sums(problem))
    add_up("chunk_sm90_sums", s.heads * (member_of(problem).before_update ? s.key_dim : 1));
  r.tensor_maps = token_maps(problem);
  return r;
}

Variant variant_of(const Member& member, States states) {
  Variant variant = cuda_backward_variant(
      member, {"chunk_sm90",
               "chunk_fused for sm_90a: bulk copies, warps with roles, wgmma",
               space(),
               {"linear_recurrence/backward/sm90/chunk_sm90.cuh",
                "linear_recurrence/backward/sm90/chunk_sm90.cpp",
                "linear_recurrence/sm90/parts.cpp", "tensor_maps.cpp"},
               [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
               with_states(reject, states),
               with_states(traffic, states),
               with_states(flops, states),
               with_states(workspace, states),
               with_states(recipe, states)});
  bind_behind_maps(variant, maps);
  return variant;
}

}  // namespace

Variant backward_chunk_sm90(const Member& member) {
  return variant_of(member, States::formed);
}

Variant backward_chunk_sm90_of_states(const Member& member) {
  return variant_of(member, States::given);
}

}  // namespace gla_bench::linear_recurrence
