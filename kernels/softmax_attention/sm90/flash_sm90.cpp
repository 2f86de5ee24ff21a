// The host side of flash_sm90.cuh.

#include "kernels/softmax_attention/sm90/flash_sm90.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/memory.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/flash/walk.hpp"
#include "kernels/softmax_attention/sm90/divide.hpp"
#include "kernels/softmax_attention/sm90/layout.h"
#include "kernels/softmax_attention/sm90/order.h"
#include "kernels/softmax_attention/sm90/parts.hpp"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr std::size_t maps = 4;
/// Registers of a thread that multiplies (flash_sm90.cuh), and those it needs besides its outputs,
/// scores and weights, as seen in the assembler's reports.
constexpr int registers_of_two = 240, registers_of_three = 160, other_registers = 36,
              decay_registers = 16;

TileSpace space() {
  return {{"block_m", {128, 192}, "queries of an item: 64 for each group that multiplies"},
          {"block_n", {128, 64, 80, 96, 112, 160, 176}, "keys of a tile"},
          {"stages", {2, 3, 4}, "tiles of keys and of values in shared memory"},
          {"ping_pong", {1, 0}, "1: groups take turns between products and exponentials"},
          {"overlap", {1, 0}, "1: scores of the next tile are formed during exponentials"},
          {"persistent",
           {1, 0, 2},
           "1: blocks stay for several items; 2: and take the next one as they become free"},
          {"emulated", {0, 4, 2}, "n: every n-th exponential by a polynomial; 0: none"}};
}

FlashSm90Layout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          std::max(1, choice(tile, "block_m") / FlashSm90Layout::rows),
          std::max(16, choice(tile, "block_n")),
          std::max(1, choice(tile, "stages")),
          decay_of(problem) != Decay::none,
          choice(tile, "persistent") == 2};
}

DecayBounds bounds(const FlashSm90Layout& sizes) {
  return {sizes.block_m, sizes.block_n, true};
}

/// What flash_flops() asks for.
FlashShape shape(const Problem& problem, const Tile& tile) {
  const FlashSm90Layout sizes = layout(problem, tile);
  return {sizes.key_dim, sizes.value_dim, 2, sizes.block_m, sizes.block_n, 4 * sizes.consumers, 1,
          sizes.stages,  sizes.decay};
}

/// Items with different queries.
std::int64_t items(const Problem& problem, const Tile& tile) {
  return problem.shape.heads * blocks_of(problem, problem.shape.seq, layout(problem, tile).block_m);
}

double rows(const Problem& problem) {
  return static_cast<double>(problem.shape.batch * problem.shape.seq * problem.shape.heads);
}

/// The tiles of keys that items walk over.
Walks walks(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const FlashSm90Layout sizes = layout(problem, tile);
  const std::int64_t blocks = ceil_div(s.seq, sizes.block_m), keys = s.keys_seq();
  double all = 0, longest = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t last = std::min(s.seq, (block + 1) * sizes.block_m) - 1;
    const std::int64_t seen =
        causal(problem) ? std::clamp<std::int64_t>(last + keys - s.seq + 1, 0, keys) : keys;
    const auto its = static_cast<double>(ceil_div(seen, sizes.block_n));
    all += its;
    longest = std::max(longest, its);
  }
  return {items(problem, tile), longest, all / static_cast<double>(blocks)};
}

/// Items that have the same queries, each with a part of their keys. With a decay, one, since how
/// far items walk is in the inputs; of a ragged batch one, too.
int parts(const Problem& problem, const Tile& tile) {
  if (decay_of(problem) != Decay::none || ragged(problem)) return 1;
  if (items(problem, tile) > resident_blocks) return 1;
  const FlashSm90Layout sizes = layout(problem, tile);
  // In microseconds of one H200: a tile at half the tensor cores' rate or 16 exponentials a clock;
  // what lies around it was chosen by times of candidates with 1 to 8 parts (docs/kernel_log.md).
  const double scores = static_cast<double>(sizes.block_m) * sizes.block_n;
  const double columns = static_cast<double>(ceil_div(sizes.key_dim, 16) * 16 + sizes.values);
  const double tile_us = std::max(2e-6 * scores * columns / 3.7, scores / 16 / 1755);
  const double launch_us = 1.5;
  const double part_us =
      8 * rows(problem) * static_cast<double>(problem.shape.value_dim + 1) / 2.1e6;
  return best_parts(
      walks(problem, tile),
      {.beside = 4, .of_all = launch_us / tile_us, .of_part = part_us / tile_us, .most = 8});
}

std::optional<std::string> refuse_registers(const FlashSm90Layout& sizes) {
  const int needed = sizes.values / 2 + sizes.block_n / 2 + sizes.block_n / 4 + other_registers +
                     (sizes.decay ? decay_registers : 0);
  const int there = sizes.consumers == 2 ? registers_of_two : registers_of_three;
  if (needed <= there + 4) return std::nullopt;
  return "about " + std::to_string(needed) + " registers a thread, " + std::to_string(there) +
         " are there";
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  const Shape& s = problem.shape;
  if (limits.arch != 90) return "needs sm_90a: wgmma and bulk tensor copies";
  if (problem.dtype == DType::float32) return "takes 16-bit inputs alone";
  if (s.key_dim > 256 || s.value_dim > 256) return "key_dim and value_dim go up to 256";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes: key_dim and value_dim of 8";
  if (!(scale_of(*find_operator(problem.op), problem) > 0)) return "needs a scale above zero";
  if (ragged(problem) && decay_of(problem) != Decay::none)
    return "with a decay it takes sequences of one length: tiles are bounded without cu_seqlens";
  if (s.seq > std::int64_t{1} << 30 || s.keys_seq() > std::int64_t{1} << 30)
    return "seq and key_seq go up to 2^30";
  const FlashSm90Layout sizes = layout(problem, tile);
  if (auto reason = refuse_registers(sizes)) return reason;
  if (auto reason = refuse_shared(sizes.bytes, limits)) return reason;
  if (auto reason = refuse_blocks(decay_bound_blocks(problem, bounds(sizes)))) return reason;
  return refuse_blocks(static_cast<double>(items(problem, tile)));  // few items alone are divided
}

/// Bytes of what all parts of all rows leave.
double part_bytes(const Problem& problem, const Tile& tile) {
  const int count = parts(problem, tile);
  return count == 1 ? 0
                    : 4 * count * rows(problem) * static_cast<double>(problem.shape.value_dim + 1);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const FlashSm90Layout sizes = layout(problem, tile);
  std::vector<Region> regions = decay_bound_regions(problem, bounds(sizes));
  if (sizes.shared_items) regions.push_back({"items_taken", 4});
  if (const auto count = static_cast<std::size_t>(parts(problem, tile)); count > 1) {
    const std::size_t of_rows = 4 * count * static_cast<std::size_t>(rows(problem));
    regions.push_back({"outputs", of_rows * static_cast<std::size_t>(problem.shape.value_dim)});
    regions.push_back({"log_sums", of_rows});
  }
  return regions;
}

/// One pass over the inputs. A head's keys and values stay in the L2 cache while its items walk.
/// With a decay, k and q are read once more to find how far items look back (not where too little
/// decays, which the model cannot know).
Traffic traffic(const Problem& problem, const Tile& tile) {
  Traffic bytes{query_bytes(problem) + key_bytes(problem) + value_bytes(problem),
                output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0)};
  const FlashSm90Layout sizes = layout(problem, tile);
  add_decay_bound_traffic(problem, bounds(sizes), bytes);
  const double of_parts = part_bytes(problem, tile);
  bytes.read_bytes += of_parts;
  bytes.write_bytes += of_parts;
  return bytes;
}

std::vector<TensorMap> row_maps(const Problem& problem, const FlashSm90Layout& sizes) {
  const Shape& s = problem.shape;
  const AttentionParams p = attention_params(problem, [](std::string_view) { return nullptr; }, {});
  const std::int64_t keys = s.keys_seq(), key_heads = s.keys_heads();
  return {row_map(problem, 0, "q", s.seq, s.heads, s.key_dim, sizes.rows, p.query_strides),
          row_map(problem, 1, "k", keys, key_heads, s.key_dim, sizes.block_n, p.key_strides),
          row_map(problem, 2, "v", keys, key_heads, s.value_dim, sizes.block_n, p.value_strides),
          row_map(problem, 3, "o", s.seq, s.heads, s.value_dim, sizes.rows, p.output_strides)};
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const FlashSm90Layout sizes = layout(problem, tile);
  Recipe r{"softmax_attention/sm90/flash_sm90.cuh", constants(problem, tile), {}};
  const int its_parts = parts(problem, tile);
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "parts", its_parts});
  add_decay_bounds(problem, bounds(sizes), r);
  if (sizes.shared_items) r.steps.push_back(Zero{"items_taken"});
  const std::int64_t all = items(problem, tile) * its_parts;
  const std::int64_t grid =
      choice(tile, "persistent") != 0 ? std::min<std::int64_t>(all, resident_blocks) : all;
  r.steps.push_back(KernelLaunch{"flash_sm90",
                                 {static_cast<unsigned>(grid), 1, 1},
                                 {static_cast<unsigned>(sizes.threads), 1, 1},
                                 static_cast<std::size_t>(sizes.bytes)});
  if (its_parts > 1) {
    const std::int64_t threads =
        static_cast<std::int64_t>(rows(problem)) * (problem.shape.value_dim / sizes.merged_columns);
    KernelLaunch merge{"flash_sm90_merge",
                       {static_cast<unsigned>(ceil_div(threads, sizes.merge_threads)), 1, 1},
                       {static_cast<unsigned>(sizes.merge_threads), 1, 1},
                       0};
    merge.overlaps = true;
    r.steps.push_back(std::move(merge));
  }
  r.tensor_maps = row_maps(problem, sizes);
  return r;
}

}  // namespace

Variant flash_sm90(std::string_view op) {
  Variant variant = cuda_variant(
      op, Direction::forward,
      {"flash_sm90",
       "flash2 for sm_90a: bulk copies, warps with roles, wgmma",
       space(),
       {"softmax_attention/sm90/flash_sm90.cuh", "softmax_attention/sm90/first_tiles.cuh",
        "softmax_attention/sm90/flash_sm90.cpp", "softmax_attention/sm90/parts.cpp",
        "softmax_attention/sm90/divide.cpp", "tensor_maps.cpp", "softmax_attention/flash/walk.cpp"},
       [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
       reject,
       traffic,
       [](const Problem& problem, const Tile& tile) {
         return flash_flops(problem, shape(problem, tile), 1);
       },
       workspace,
       recipe,
       true});
  bind_behind_maps(variant, maps);
  variant.skips_decayed_keys = true;
  return variant;
}

}  // namespace gla_bench::softmax_attention
