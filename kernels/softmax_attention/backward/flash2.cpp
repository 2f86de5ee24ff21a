// The host side of flash2.cuh: the variants flash2 and flash2_deterministic.

#include <algorithm>

#include "kernels/softmax_attention/backward/layout.h"
#include "kernels/softmax_attention/backward/steps.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/variants.hpp"
#include "reference/attention/ragged.hpp"

namespace gla_bench::softmax_attention {
namespace {

enum class Order { varies, fixed };

TileSpace space() {
  return {{"block_n", {128, 64}, "keys (queries, where dq is formed by queries) of a block"},
          {"block_m", {64, 32, 128}, "tokens that a block meets in a step"},
          {"warps", {8, 4}, "warps of a block; each owns 16 or 32 rows of its scores"},
          {"stages", {2, 1}, "steps in shared memory: 2 loads the next one during the current one"},
          {"residency", {1, 2}, "blocks on a multiprocessor that registers are kept for"},
          {"terms",
           {1, 3},
           "float32 products with P and dS: 1 in tf32, 3 close to float32 (those of S and dP)"}};
}

/// The number of floats a thread may use for its sums so that everything else still fits in its
/// registers. The figures come from the assembler's register reports. Operands that are multiplied
/// in three tf32 products need more registers.
int sums_of(const Tile& tile) {
  return choice(tile, "terms") == 3 ? 120 : 192;
}

/// The layout of a walk that owns either keys or queries.
BackwardLayout layout(const Problem& problem, const Tile& tile, bool by_keys, Order order) {
  const int warps = std::max(1, choice(tile, "warps"));
  return {{static_cast<int>(problem.shape.key_dim), static_cast<int>(problem.shape.value_dim),
           static_cast<int>(size_of(problem.dtype)), choice(tile, "block_n"),
           choice(tile, "block_m"), warps, choice(tile, "stages"),
           static_cast<int>(decay_of(problem)), sums_of(tile), by_keys,
           by_keys && order == Order::varies}};
}

double walk_blocks(const Problem& problem, const BackwardLayout& at) {
  const Shape& s = problem.shape;
  const std::int64_t rows = at.shape.by_keys ? s.keys_seq() : s.seq;
  const std::int64_t count = at.shape.by_keys ? s.keys_heads() : s.heads;
  return static_cast<double>(count) * static_cast<double>(blocks_of(problem, rows, at.shape.rows)) *
         at.slices;
}

/// Steps of queries of all heads.
std::int64_t steps_of_queries(const Problem& problem, const Tile& tile) {
  return problem.shape.heads * blocks_of(problem, problem.shape.seq, choice(tile, "block_m"));
}

/// The number of pairs of a row tile and a column tile that a walk visits, over all query heads.
double tiles_met(const Problem& problem, const BackwardLayout& at) {
  const std::int64_t rows = at.shape.rows, columns = at.shape.columns;
  double met = 0;
  for (const attention::Lengths& one : attention::lengths(problem)) {
    const std::int64_t offset = one.keys - one.queries;
    const std::int64_t length = at.shape.by_keys ? one.keys : one.queries;
    const std::int64_t whole = ceil_div(at.shape.by_keys ? one.queries : one.keys, columns);
    double of_one = 0;
    for (std::int64_t row = 0; row < length; row += rows) {
      std::int64_t first = 0, last = whole;
      if (causal(problem) && at.shape.by_keys)
        first = std::max<std::int64_t>(0, row - offset) / columns;
      if (causal(problem) && !at.shape.by_keys)
        last = ceil_div(std::max<std::int64_t>(0, std::min(row + rows, length) + offset), columns);
      of_one += static_cast<double>(std::max<std::int64_t>(0, last - first));
    }
    met += of_one * static_cast<double>(one.times);
  }
  return met * static_cast<double>(problem.shape.heads);
}

std::optional<std::string> refuse_walk(const Problem& problem, const Tile& tile,
                                       const BackwardLayout& at, const Limits& limits) {
  const int residency = choice(tile, "residency");
  if (at.tiles < 1 || at.tiles > 2 || at.tiles * 16 * at.shape.warps != at.shape.rows)
    return "block_n=" + std::to_string(at.shape.rows) + " over " + std::to_string(at.shape.warps) +
           " warps is not 16 or 32 rows each";
  const int beside = 255 - sums_of(tile);
  const int room = std::min(255, 65536 / (at.threads * residency));
  if (at.accumulators + beside > room)
    return std::to_string(at.accumulators) + " sums a thread, there is room for " +
           std::to_string(std::max(0, room - beside));
  if (auto reason = refuse_shared(std::int64_t{at.bytes} * residency, limits)) return reason;
  return refuse_blocks(walk_blocks(problem, at));
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits,
                                  Order order) {
  if (auto reason = refuse_terms(problem, choice(tile, "terms"))) return reason;
  if (auto reason = refuse_backward(problem)) return reason;
  if (auto reason = refuse_walk(problem, tile, layout(problem, tile, true, order), limits))
    return reason;
  if (order == Order::fixed)
    return refuse_walk(problem, tile, layout(problem, tile, false, order), limits);
  return refuse_blocks(static_cast<double>(steps_of_queries(problem, tile)));
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile, Order order) {
  std::vector<Region> regions = backward_regions(problem);
  if (order == Order::fixed) return regions;
  const BackwardLayout at = layout(problem, tile, true, order);
  regions.push_back({"dq_sums", static_cast<std::size_t>(steps_of_queries(problem, tile)) *
                                    static_cast<std::size_t>(at.slices) *
                                    static_cast<std::size_t>(at.dq_floats) * 4});
  return regions;
}

/// Bytes a walk reads: rows and columns once each. The blocks of one head run at the same time and
/// visit the same columns, so only the first read of a column reaches device memory. The L2 cache
/// serves the others.
double walk_reads(const Problem& problem, const BackwardLayout& at) {
  const double queries = lse_bytes(problem) / 4;
  const double columns = at.shape.by_keys ? queries
                                          : queries / static_cast<double>(problem.shape.seq) *
                                                static_cast<double>(problem.shape.keys_seq());
  return key_bytes(problem) + value_bytes(problem) + query_bytes(problem) + output_bytes(problem) +
         columns * ((at.shape.by_keys ? 8 : 0) + (at.shape.decay == 2 ? 16 : 0));
}

Traffic traffic(const Problem& problem, const Tile& tile, Order order) {
  const DecaySums sums = order == Order::fixed ? DecaySums::ordered : DecaySums::added;
  Traffic bytes = traffic_beside(problem, sums);
  const BackwardLayout at = layout(problem, tile, true, order);
  const double keys = lse_bytes(problem) / static_cast<double>(problem.shape.seq) *
                      static_cast<double>(problem.shape.keys_seq());
  bytes.read_bytes += walk_reads(problem, at);
  bytes.write_bytes += key_bytes(problem) + value_bytes(problem) + query_bytes(problem) +
                       (at.shape.decay != 0 ? 2 * keys : 0);
  if (order == Order::fixed) {
    bytes.read_bytes += walk_reads(problem, layout(problem, tile, false, order));
    bytes.write_bytes += at.shape.decay == 2 ? 2 * lse_bytes(problem) : 0;
    return bytes;
  }
  // The sums are zeroed, added to, and read at the end. The additions stay in the L2 cache except
  // for one pass over the sums.
  const double all =
      static_cast<double>(steps_of_queries(problem, tile)) * 4.0 * at.slices * at.dq_floats;
  bytes.read_bytes += 2 * all;
  bytes.write_bytes += 2 * all;
  return bytes;
}

/// A walk over keys computes q k^T, do v^T, P^T do, dS^T q and, where dq is summed in device
/// memory, dS k. A walk over queries computes q k^T, do v^T and dS k. Every slice computes all
/// scores.
double flops(const Problem& problem, const Tile& tile, Order order) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  const auto walk = [&](const BackwardLayout& at, double results) {
    return 2.0 * tiles_met(problem, at) * at.shape.rows * at.shape.columns *
           (at.slices * (k + v) + results);
  };
  const double by_keys =
      walk(layout(problem, tile, true, order), order == Order::fixed ? k + v : 2 * k + v);
  if (order == Order::varies) return by_keys;
  return by_keys + walk(layout(problem, tile, false, order), k);
}

Recipe recipe(const Problem& problem, const Tile& tile, Order order) {
  Recipe r{"softmax_attention/backward/flash2.cuh", constants(problem, tile), {}};
  r.constants.push_back({"tile", "deterministic", order == Order::fixed});
  r.constants.push_back({"tile", "sums", sums_of(tile)});
  for (const Constant& place : backward_places(workspace(problem, tile, order)))
    r.constants.push_back(place);
  const auto walk = [&](const char* entry, const BackwardLayout& at) {
    r.steps.push_back(backward_launch(entry, walk_blocks(problem, at), at.threads, at.bytes));
  };
  r.steps = steps_before(problem, order == Order::fixed ? DecaySums::ordered : DecaySums::added);
  if (order == Order::varies) r.steps.push_back(Zero{"dq_sums"});
  walk("attention_backward_keys", layout(problem, tile, true, order));
  if (order == Order::fixed)
    walk("attention_backward_queries", layout(problem, tile, false, order));
  else
    r.steps.push_back(backward_launch("attention_backward_round",
                                      static_cast<double>(steps_of_queries(problem, tile)),
                                      BackwardRows::threads));
  for (const Step& step : steps_after(problem)) r.steps.push_back(step);
  return r;
}

Variant make(std::string_view op, Order order, std::string_view name, std::string_view summary) {
  const auto bound = [order](auto function) {
    return [order, function](const Problem& problem, const Tile& tile) {
      return function(problem, tile, order);
    };
  };
  return cuda_variant(
      op, Direction::backward,
      {name,
       summary,
       space(),
       {"softmax_attention/backward/flash2.cuh", "softmax_attention/backward/flash2.cpp",
        "softmax_attention/backward/steps.cpp"},
       [](const Problem& problem, const Tile& tile) {
         return product_arithmetic(problem, choice(tile, "terms"));
       },
       [order](const Problem& problem, const Tile& tile, const Limits& limits) {
         return reject(problem, tile, limits, order);
       },
       bound(traffic),
       bound(flops),
       bound(workspace),
       bound(recipe),
       true});
}

}  // namespace

Variant backward_flash2(std::string_view op) {
  Variant variant =
      make(op, Order::varies, "flash2",
           "P recomputed per block; dk, dv in registers, dq added up in device memory: its last "
           "bits vary");
  variant.reproducible = false;
  return variant;
}

Variant backward_flash2_deterministic(std::string_view op) {
  return make(op, Order::fixed, "flash2_deterministic",
              "P recomputed per block, once by keys for dk, dv, once by queries for dq: bitwise "
              "repeatable");
}

}  // namespace gla_bench::softmax_attention
