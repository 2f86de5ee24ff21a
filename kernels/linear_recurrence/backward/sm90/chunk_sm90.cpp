// Host side of the backward of chunk_sm90: a walk that keeps states, and one back that forms the
// gradients.

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/backward/sm90/layout.h"
#include "kernels/linear_recurrence/backward/variant.hpp"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/memory.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr std::size_t map_bytes = 128, maps = 8;
constexpr int sum_threads = 256;  // sums.cuh has the same

TileSpace space() {
  return {{"stages", {2, 1, 3}, "chunks in shared memory, on their way or being worked on"}};
}

GradientSm90Layout layout(const Problem& problem, const Tile& tile, bool states_only = false) {
  const Decay decay = member_of(problem).decay;
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          std::max(1, choice(tile, "stages")),
          static_cast<int>(decay),
          decay == Decay::per_key && gate_bytes_each(problem) == 4,
          states_only};
}

GradientSums sums(const Problem& problem) {
  return {1, sequences(problem), 0};
}

/// States that are kept for each sequence: before each chunk, and behind the last one.
double state_bytes_kept(const Problem& problem, const Tile& tile, bool last) {
  const std::int64_t chunks = ceil_div(problem.shape.seq, GradientSm90Layout::tokens);
  return 4.0 * layout(problem, tile).state_words *
         static_cast<double>(sequences(problem) * (chunks + (last ? 1 : 0)));
}

double head_sum_bytes(const Problem& problem) {
  return has_head_sums(problem) ? 8.0 * static_cast<double>(sequences(problem)) *
                                      static_cast<double>(problem.shape.key_dim + 1)
                                : 0.0;
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  std::vector<Region> regions{
      {"chunk_states", static_cast<std::size_t>(state_bytes_kept(problem, tile, true))}};
  if (has_head_sums(problem))
    regions.push_back({sums_region, static_cast<std::size_t>(head_sum_bytes(problem))});
  return regions;
}

std::optional<std::string> refuse_problem(const Problem& problem) {
  const Shape& s = problem.shape;
  if (problem.dtype != DType::bfloat16) return "takes bfloat16 alone";
  if (s.key_dim > 128 || s.value_dim > 128)
    return "key_dim and value_dim go up to 128: the registers hold no more of a state";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes";
  if (ragged(problem)) return "sequences have one length";
  if (flag(problem, "normalize")) return "has no normalizer";
  if (option(problem, "feature_map") == "elu_plus_one") return "has no feature map";
  return std::nullopt;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (limits.arch != 90) return "needs sm_90a: wgmma and bulk tensor copies";
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_problem(problem)) return reason;
  if (auto reason = refuse_shared(layout(problem, tile).bytes, limits)) return reason;
  return refuse_gradients(problem, workspace(problem, tile), sums(problem), limits);
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const bool last = problem.final_state;
  const double kept = state_bytes_kept(problem, tile, last), head_sums = head_sum_bytes(problem);
  const double small = small_bytes(problem);
  return {key_bytes(problem) + gate_bytes(problem) + value_bytes(problem) +
              host::states_read(problem) + kept + token_gradient_reads(problem) +
              host::states_written(problem) + head_sums + small,
          kept + gradient_bytes(problem) + head_sums};
}

double flops(const Problem& problem, const Tile&) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  return host::tokens(problem) * (10 * k * v + 65 * (3 * k + 2 * v));
}

/// A [B,T,H,columns] tensor in boxes of 64 tokens of one head, in rows of 128 bytes.
TensorMap token_map(const Problem& problem, std::size_t place, std::string buffer, DType dtype,
                    std::int64_t columns, const TokenStrides& strides) {
  const Shape& s = problem.shape;
  return {place * map_bytes,
          std::move(buffer),
          dtype,
          {columns, s.seq, s.heads, s.batch},
          {strides.seq, strides.heads, strides.batch},
          {128 / static_cast<int>(size_of(dtype)), GradientSm90Layout::tokens, 1, 1},
          128};
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

Recipe recipe(const Problem& problem, const Tile& tile) {
  Recipe r{"linear_recurrence/backward/sm90/chunk_sm90.cuh", constants(problem, tile), {}};
  for (const Constant& constant : gradient_constants(workspace(problem, tile), sums(problem)))
    r.constants.push_back(constant);
  const GradientSm90Layout sizes = layout(problem, tile);
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  const auto walk = [&](const char* entry, int shared) {
    r.steps.push_back(
        gradient_launch(entry, static_cast<double>(sequences(problem)), sizes.threads, shared));
  };
  walk("chunk_sm90_keep_states", layout(problem, tile, true).bytes);
  walk("chunk_sm90_gradients", sizes.bytes);
  if (has_head_sums(problem)) {
    const Shape& s = problem.shape;
    r.steps.push_back(gradient_launch(
        "chunk_sm90_sums", static_cast<double>(ceil_div(s.heads * s.key_dim, sum_threads)),
        sum_threads));
  }
  r.tensor_maps = token_maps(problem);
  return r;
}

}  // namespace

// The gradient of a constant decay is one sum over all tokens, in which the roundings of states,
// scores and their gradients do not average out: drawn problems passed its bound by up to three
// times. So there is no such variant of an operator with a constant decay.
Variant backward_chunk_sm90(const Member& member) {
  Variant variant = cuda_backward_variant(
      member, {"chunk_sm90",
               "chunk_fused for sm_90a: bulk copies, warps with roles, wgmma",
               space(),
               {"linear_recurrence/backward/sm90/chunk_sm90.cuh",
                "linear_recurrence/backward/sm90/chunk_sm90.cpp"},
               [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
               reject,
               traffic,
               flops,
               workspace,
               recipe});
  variant.bind = [bind = variant.bind](const Problem& problem, const Tile& tile,
                                       const Address& address) {
    ParamBytes bytes = bind(problem, tile, address);
    bytes.insert(bytes.begin(), maps * map_bytes, std::byte{0});
    bytes.resize((bytes.size() + 63) / 64 * 64);
    return bytes;
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
