// The host side of the backward of flash_sm90.

#include "kernels/softmax_attention/sm90/backward/flash_sm90.hpp"

#include <algorithm>
#include <utility>

#include "core/operator.hpp"
#include "kernels/memory.hpp"
#include "kernels/softmax_attention/backward/layout.h"
#include "kernels/softmax_attention/backward/steps.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/sm90/backward/layout.h"
#include "kernels/softmax_attention/sm90/divide.hpp"
#include "kernels/softmax_attention/sm90/order.h"
#include "kernels/softmax_attention/sm90/parts.hpp"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::softmax_attention {
namespace {

/// In which order parts of dq are added.
enum class Order { varies, fixed };

constexpr std::size_t maps = 6;
/// Sums and scores that a thread has room for.
constexpr int most_accumulators = 192;

TileSpace space() {
  return {{"block_m", {64, 128}, "queries of a step"},
          {"stages", {2, 1, 3}, "steps of queries in shared memory"}};
}

/// The order matters to what lies in shared memory alone.
BackwardSm90Layout layout(const Problem& problem, const Tile& tile, Order order = Order::varies) {
  const int key_dim = static_cast<int>(problem.shape.key_dim);
  const int value_dim = static_cast<int>(problem.shape.value_dim);
  const int block_m = std::max(64, choice(tile, "block_m"));
  const int stages = std::max(1, choice(tile, "stages"));
  const int decay = static_cast<int>(decay_of(problem));
  const int keys_of_block = BackwardSm90Layout{key_dim, value_dim, block_m, stages, decay}.block_n;
  const bool whole = problem.shape.keys_seq() <= keys_of_block;
  return {key_dim, value_dim, block_m, stages, decay, order == Order::fixed && !whole, whole};
}

DecayBounds bounds(const BackwardSm90Layout& sizes) {
  return {sizes.block_m, sizes.block_n, false};
}

std::int64_t steps(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.seq, layout(problem, tile).block_m);
}
/// Steps of all query heads.
std::int64_t all_steps(const Problem& problem, const Tile& tile) {
  return problem.shape.batch * problem.shape.heads * steps(problem, tile);
}
std::int64_t blocks(const Problem& problem, const BackwardSm90Layout& sizes) {
  const Shape& s = problem.shape;
  return s.batch * s.keys_heads() * ceil_div(s.keys_seq(), sizes.block_n);
}

/// Pairs of a block's keys and a step's queries that meet, over all query heads.
double steps_met(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const BackwardSm90Layout sizes = layout(problem, tile);
  const std::int64_t all = steps(problem, tile), offset = s.keys_seq() - s.seq;
  double met = 0;
  for (std::int64_t key = 0; key < s.keys_seq(); key += sizes.block_n) {
    const std::int64_t nearest = std::max<std::int64_t>(0, key - offset);
    const std::int64_t first = causal(problem) && !sizes.whole ? nearest / sizes.block_m : 0;
    met += static_cast<double>(std::max<std::int64_t>(0, all - first));
  }
  return met * static_cast<double>(s.batch) * static_cast<double>(s.heads);
}

/// Blocks that divide the steps of the same keys. With a decay, one: sums of dS for its gradient
/// belong to one block each.
int parts(const Problem& problem, const Tile& tile) {
  if (decay_of(problem) != Decay::none) return 1;
  const std::int64_t all = blocks(problem, layout(problem, tile));
  const auto longest = static_cast<double>(group(problem) * steps(problem, tile));
  return parts_of_steps(all, longest, steps_met(problem, tile) / static_cast<double>(all));
}
/// Floats of the sums of dk and dv of all parts, where there are several.
double part_floats(const Problem& problem, const Tile& tile) {
  const int count = parts(problem, tile);
  const BackwardSm90Layout sizes = layout(problem, tile);
  return count == 1 ? 0 : static_cast<double>(blocks(problem, sizes)) * count * sizes.block_floats;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits,
                                  Order order) {
  const Shape& s = problem.shape;
  if (limits.arch != 90) return "needs sm_90a: wgmma and bulk tensor copies";
  if (problem.dtype == DType::float32) return "takes 16-bit inputs alone";
  if (s.key_dim > 256 || s.value_dim > 256)
    return "key_dim and value_dim go up to 256: a thread has no room for sums of more";
  if (s.key_dim % 8 != 0 || s.value_dim % 8 != 0)
    return "bulk copies need rows of a multiple of 16 bytes: key_dim and value_dim of 8";
  if (auto reason = refuse_backward(problem)) return reason;
  const BackwardSm90Layout sizes = layout(problem, tile, order);
  if (!sizes.dq_by_columns && sizes.by_columns)
    return "128 queries are for key_dim and value_dim of up to 128";
  if (!sizes.dq_by_columns && sizes.key_panels == 2)
    return "128 queries are for a key_dim of up to 64";
  if (sizes.accumulators > most_accumulators)
    return std::to_string(sizes.accumulators) + " sums a thread, there is room for " +
           std::to_string(most_accumulators);
  if (auto reason = refuse_shared(sizes.bytes, limits)) return reason;
  if (auto reason = refuse_blocks(static_cast<double>(all_steps(problem, tile)))) return reason;
  if (auto reason = refuse_blocks(decay_bound_blocks(problem, bounds(sizes)))) return reason;
  return refuse_blocks(static_cast<double>(blocks(problem, sizes)) * parts(problem, tile));
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile, Order order) {
  std::vector<Region> regions = backward_regions(problem, Preparation::own);
  const BackwardSm90Layout sizes = layout(problem, tile, order);
  const auto all = static_cast<std::size_t>(all_steps(problem, tile));
  regions.push_back({"query_records", all * static_cast<std::size_t>(sizes.record_bytes)});
  // In a fixed order each step has a counter of the blocks that have added to it, behind the sums.
  if (!sizes.whole)
    regions.push_back({"dq_sums", all * (4 * static_cast<std::size_t>(sizes.step_floats) +
                                         (sizes.ordered ? 4 : 0))});
  if (parts(problem, tile) > 1)
    regions.push_back({"result_sums", 4 * static_cast<std::size_t>(part_floats(problem, tile))});
  for (Region& region : decay_bound_regions(problem, bounds(sizes)))
    regions.push_back(std::move(region));
  return regions;
}

/// The regions that the walk and the kernels of sums.cuh name. Those that only the unit of
/// first_tiles.cuh needs are bound for that unit alone.
std::vector<Region> walk_regions(const Problem& problem, const Tile& tile, Order order) {
  std::vector<Region> regions = workspace(problem, tile, order);
  std::erase_if(regions, [](const Region& region) {
    return region.name == "decay_totals" || region.name == "tile_bounds" ||
           region.name == "item_bounds";
  });
  return regions;
}

/// work::<name> for them.
std::vector<Constant> places(const std::vector<Region>& regions) {
  std::vector<Constant> list = backward_places(regions);
  for (const char* name : {"decay_sums", "first_tiles", "query_records", "result_sums"}) {
    const auto found = std::find_if(regions.begin(), regions.end(),
                                    [&](const Region& region) { return region.name == name; });
    list.push_back(
        {"work", name, found == regions.end() ? 0 : static_cast<int>(found - regions.begin())});
  }
  return list;
}

/// The blocks of a head run at the same time and meet the same queries, so only the first read of a
/// query reaches device memory. The sums of dq are zeroed, added to, and read at the end; the
/// additions stay in the L2 cache except for one pass. The sums of dk and dv of blocks with the
/// same keys are written and read.
Traffic traffic(const Problem& problem, const Tile& tile) {
  Traffic bytes = traffic_beside(problem, DecaySums::added, Preparation::own);
  const BackwardSm90Layout sizes = layout(problem, tile);
  const auto all = static_cast<double>(all_steps(problem, tile));
  const double of_dq = sizes.whole ? 0 : 8.0 * all * sizes.step_floats;
  const double sums = of_dq + 4 * part_floats(problem, tile), records = all * sizes.record_bytes;
  bytes.read_bytes += query_bytes(problem) + output_bytes(problem) + key_bytes(problem) +
                      value_bytes(problem) + sums + records;
  bytes.write_bytes +=
      query_bytes(problem) + key_bytes(problem) + value_bytes(problem) + sums + records;
  add_decay_bound_traffic(problem, bounds(sizes), bytes);
  const double keys = lse_bytes(problem) / 4 / static_cast<double>(problem.shape.seq) *
                      static_cast<double>(problem.shape.keys_seq());
  if (decay_of(problem) != Decay::none) {
    bytes.read_bytes += 32 * keys;  // the sums of log decays, for the records and by the walk
    bytes.write_bytes += 8 * keys;  // the sums of dS over the queries of each key
  }
  return bytes;
}

/// q k^T and do v^T, which both consumers form where they divide columns; P^T do, dS^T q and dS k.
double flops(const Problem& problem, const Tile& tile) {
  const BackwardSm90Layout sizes = layout(problem, tile);
  const double scores = sizes.by_columns ? 2 : 1;
  return 2.0 * steps_met(problem, tile) * sizes.block_m * sizes.block_n *
         ((scores + 2) * static_cast<double>(problem.shape.key_dim) +
          (scores + 1) * static_cast<double>(problem.shape.value_dim));
}

std::vector<TensorMap> row_maps(const Problem& problem, const BackwardSm90Layout& sizes) {
  const Shape& s = problem.shape;
  const AttentionParams p = attention_params(problem, [](std::string_view) { return nullptr; }, {});
  const std::int64_t keys = s.keys_seq(), heads = s.keys_heads();
  return {row_map(problem, 0, "q", s.seq, s.heads, s.key_dim, sizes.block_m, p.query_strides),
          row_map(problem, 1, "k", keys, heads, s.key_dim, sizes.block_n, p.key_strides),
          row_map(problem, 2, "v", keys, heads, s.value_dim, sizes.block_n, p.value_strides),
          row_map(problem, 3, "do", s.seq, s.heads, s.value_dim, sizes.block_m, p.output_strides),
          row_map(problem, 4, "dk", keys, heads, s.key_dim, sizes.rows, p.dk_strides),
          row_map(problem, 5, "dv", keys, heads, s.value_dim, sizes.rows, p.dv_strides)};
}

Recipe recipe(const Problem& problem, const Tile& tile, Order order) {
  const BackwardSm90Layout sizes = layout(problem, tile, order);
  const int its_parts = parts(problem, tile);
  const std::vector<Region> regions = walk_regions(problem, tile, order);
  const std::vector<Constant> of_work = places(regions);
  Recipe r{"softmax_attention/sm90/backward/flash_sm90.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "whole", sizes.whole});
  r.constants.push_back({"launch", "parts", its_parts});
  r.constants.push_back({"tile", "deterministic", order == Order::fixed});
  r.constants.insert(r.constants.end(), of_work.begin(), of_work.end());
  const std::vector<Step> before = steps_before(problem, DecaySums::added, Preparation::own);
  const std::vector<Step> after = steps_after(problem);
  if (!before.empty() || !after.empty()) {
    // The kernels of sums.cuh have parameters without tensor maps.
    std::vector<Constant> of_others = constants(problem, {});
    of_others.insert(of_others.end(), of_work.begin(), of_work.end());
    r.imports.push_back({"softmax_attention/backward/sums.cuh", std::move(of_others),
                         [problem, regions](const Address& address) {
                           return softmax_attention::bind(problem, address, regions);
                         }});
  }
  const auto add = [&](const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      r.steps.push_back(step);
      if (auto* launch = std::get_if<KernelLaunch>(&r.steps.back())) launch->module = 1;
    }
  };
  // The first of these waits for all before it, each other one overlaps with the one before.
  auto add_own = [&r, overlaps = false](const char* entry, double its_blocks, int threads,
                                        int shared = 0) mutable {
    KernelLaunch launch = backward_launch(entry, its_blocks, threads, shared);
    launch.overlaps = std::exchange(overlaps, true);
    r.steps.push_back(std::move(launch));
  };
  add(before);
  add_decay_bounds(problem, bounds(sizes), r);
  const auto all = static_cast<double>(all_steps(problem, tile));
  const auto of_keys = static_cast<double>(blocks(problem, sizes));
  add_own("flash_sm90_backward_queries", all, sizes.side_threads);
  add_own("flash_sm90_backward", of_keys * its_parts, sizes.threads, sizes.bytes);
  const double slices = 2 * of_keys * sizes.block_n / BackwardSm90Layout::slice_rows;
  const double rounded = (sizes.whole ? 0 : all) + (its_parts > 1 ? slices : 0);
  if (rounded > 0) add_own("flash_sm90_backward_round", rounded, sizes.side_threads);
  add(after);
  r.tensor_maps = row_maps(problem, sizes);
  return r;
}

Variant make(std::string_view op, Order order, std::string_view name, std::string_view summary) {
  const auto bound = [order](auto function) {
    return [order, function](const Problem& problem, const Tile& tile) {
      return function(problem, tile, order);
    };
  };
  Variant variant = cuda_variant(
      op, Direction::backward,
      {name,
       summary,
       space(),
       {"softmax_attention/sm90/backward/flash_sm90.cuh", "softmax_attention/sm90/first_tiles.cuh",
        "softmax_attention/backward/sums.cuh", "softmax_attention/sm90/backward/flash_sm90.cpp",
        "softmax_attention/sm90/parts.cpp", "softmax_attention/sm90/divide.cpp", "tensor_maps.cpp",
        "softmax_attention/backward/steps.cpp", "softmax_attention/flash/walk.cpp"},
       [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 1); },
       [order](const Problem& problem, const Tile& tile, const Limits& limits) {
         return reject(problem, tile, limits, order);
       },
       traffic,
       flops,
       bound(workspace),
       bound(recipe)});
  variant.bind = [order](const Problem& problem, const Tile& tile, const Address& address) {
    return softmax_attention::bind(problem, address, walk_regions(problem, tile, order));
  };
  bind_behind_maps(variant, maps);
  variant.skips_decayed_keys = true;
  return variant;
}

}  // namespace

int parts_of_steps(std::int64_t blocks, double longest, double mean) {
  // Chosen by times of candidates with 1 to 16 parts (docs/kernel_log.md).
  return best_parts({blocks, longest, mean},
                    {.beside = 6, .of_all = 0, .of_part = 0.2, .most = 16});
}

Variant backward_flash_sm90(std::string_view op) {
  Variant variant = make(op, Order::varies, "flash_sm90",
                         "flash2 for sm_90a: bulk copies, warps with roles, wgmma; dq added up in "
                         "device memory, so that its last bits vary");
  variant.reproducible = false;
  return variant;
}

Variant backward_flash_sm90_deterministic(std::string_view op) {
  return make(op, Order::fixed, "flash_sm90_deterministic",
              "flash_sm90 with dq added up in the order of the keys: bitwise repeatable");
}

}  // namespace gla_bench::softmax_attention
