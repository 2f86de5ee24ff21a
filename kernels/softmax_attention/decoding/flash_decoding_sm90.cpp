// The host side of flash_decoding_sm90.cuh.

#include "kernels/softmax_attention/decoding/flash_decoding_sm90.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/softmax_attention/decoding/layout.h"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/sm90/parts.hpp"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr std::size_t maps = 2;
constexpr int merge_threads = 128;  // SplitMerge

TileSpace space() {
  return {{"split", {2048, 4096, 1024, 256}, "keys of a block"},
          {"block_n", {64, 128}, "keys of a tile"},
          {"warps", {4, 8}, "warps that multiply, each with keys of its own"},
          {"stages", {3, 2, 6}, "tiles of keys and of values in shared memory"}};
}

int at_least_one(const Tile& tile, std::string_view axis) {
  return std::max(1, choice(tile, axis));
}

bool biased(const Problem& problem) {
  return decay_of(problem) != Decay::none;
}

DecodingLayout layout(const Problem& problem, const Tile& tile) {
  const std::int64_t biases = std::min<std::int64_t>(DecodingLayout::rows, group(problem));
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          std::max(16, choice(tile, "block_n")),
          at_least_one(tile, "split"),
          at_least_one(tile, "warps"),
          at_least_one(tile, "stages"),
          biased(problem) ? static_cast<int>(biases) : 0};
}

std::int64_t splits(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.keys_seq(), at_least_one(tile, "split"));
}
std::int64_t tiles(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.keys_seq(), layout(problem, tile).block_n);
}
std::int64_t rows(const Problem& problem) {
  return problem.shape.batch * problem.shape.seq * problem.shape.heads;
}
std::int64_t blocks(const Problem& problem, const Tile& tile) {
  const std::int64_t row_tiles = ceil_div(problem.shape.seq * group(problem), DecodingLayout::rows);
  return problem.shape.batch * problem.shape.keys_heads() * row_tiles * splits(problem, tile);
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  const Shape& s = problem.shape;
  if (limits.arch != 90) return "needs sm_90a: bulk tensor copies";
  if (problem.dtype == DType::float32) return "takes 16-bit inputs alone";
  if (s.key_dim > 256 || s.value_dim > 256) return "key_dim and value_dim go up to 256";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes: key_dim and value_dim of 8";
  if (!(scale_of(*find_operator(problem.op), problem) > 0)) return "needs a scale above zero";
  if (s.seq * group(problem) > std::int64_t{1} << 30 || s.keys_seq() > std::int64_t{1} << 30)
    return "seq * heads / key_heads and key_seq go up to 2^30";
  if (biased(problem) && s.seq != 1) return "a decay goes with one query alone";
  const DecodingLayout sizes = layout(problem, tile);
  if (biased(problem) && sizes.stages % DecodingLayout::warps_for_biases != 0)
    return "three warps form the biases of a decay, a third of the stages each";
  if (sizes.block_n % (16 * sizes.warps) != 0)
    return "block_n=" + std::to_string(sizes.block_n) + " leaves " + std::to_string(sizes.warps) +
           " warps less than 16 keys each";
  if (sizes.split > 256 && sizes.split >= s.keys_seq())
    return "split=" + std::to_string(sizes.split) + " is no split of so few keys";
  const int needed = sizes.registers_beside_queries + sizes.registers_of_queries;
  if (needed > sizes.registers_there)
    return "about " + std::to_string(needed) + " registers a thread, " +
           std::to_string(sizes.registers_there) + " are there";
  if (auto reason = refuse_shared(sizes.bytes, limits)) return reason;
  if (auto reason = refuse_blocks(static_cast<double>(rows(problem)))) return reason;
  return refuse_blocks(static_cast<double>(blocks(problem, tile)));
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto parts = static_cast<std::size_t>(splits(problem, tile) * rows(problem));
  std::vector<Region> regions{
      {"outputs", parts * static_cast<std::size_t>(problem.shape.value_dim) * 4},
      {"log_sums", parts * 4}};
  if (biased(problem)) regions.push_back({"split_decays", parts * 4});
  return regions;
}

/// Queries are read once for each split, keys and values once. How much of the values a decay
/// leaves unread is in the inputs, so all of them count.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto count = static_cast<double>(splits(problem, tile));
  const double parts = count * static_cast<double>(rows(problem)) *
                       static_cast<double>(problem.shape.value_dim + (biased(problem) ? 2 : 1)) * 4;
  return {query_bytes(problem) * count + key_bytes(problem) + value_bytes(problem) +
              decay_bytes(problem) + parts,
          output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0) + parts};
}

/// The products of all rows of a block with all its keys, and the weighting of the parts.
double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const double keys = static_cast<double>(tiles(problem, tile)) *
                      static_cast<double>(layout(problem, tile).block_n);
  const double row_blocks = static_cast<double>(blocks(problem, tile)) /
                            static_cast<double>(splits(problem, tile)) * DecodingLayout::rows;
  return 2 * row_blocks * keys * static_cast<double>(s.key_dim + s.value_dim) +
         2 * static_cast<double>(splits(problem, tile)) * static_cast<double>(rows(problem)) *
             static_cast<double>(s.value_dim);
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const DecodingLayout sizes = layout(problem, tile);
  const Shape& s = problem.shape;
  Recipe r{"softmax_attention/decoding/flash_decoding_sm90.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "biased", sizes.biased});
  const auto launch = [&](const char* entry, std::int64_t grid, int threads, int shared) {
    KernelLaunch step{entry,
                      {static_cast<unsigned>(grid), 1, 1},
                      {static_cast<unsigned>(threads), 1, 1},
                      static_cast<std::size_t>(shared)};
    step.overlaps = !r.steps.empty();
    r.steps.push_back(std::move(step));
  };
  launch("decoding_split", blocks(problem, tile), sizes.threads, sizes.bytes);
  launch("decoding_merge", rows(problem), merge_threads, 0);
  const AttentionParams p = attention_params(problem, [](std::string_view) { return nullptr; }, {});
  r.tensor_maps = {row_map(problem, 0, "k", s.keys_seq(), s.keys_heads(), s.key_dim, sizes.block_n,
                           p.key_strides),
                   row_map(problem, 1, "v", s.keys_seq(), s.keys_heads(), s.value_dim,
                           sizes.block_n, p.value_strides)};
  return r;
}

}  // namespace

Variant flash_decoding_sm90(std::string_view op) {
  Variant variant = cuda_variant(
      op, Direction::forward,
      {"flash_decoding_sm90",
       "flash_decoding for sm_90a: key heads read once, by bulk copies",
       space(),
       {"softmax_attention/decoding/flash_decoding_sm90.cuh",
        "softmax_attention/decoding/flash_decoding_sm90.cpp", "softmax_attention/sm90/parts.cpp",
        "tensor_maps.cpp"},
       [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
       reject,
       traffic,
       flops,
       workspace,
       recipe});
  bind_behind_maps(variant, maps);
  return variant;
}

}  // namespace gla_bench::softmax_attention
