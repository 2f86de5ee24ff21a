#include "kernels/softmax_attention/sm90/parts.hpp"

#include <algorithm>

#include "kernels/memory.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/flash/walk.hpp"
#include "kernels/softmax_attention/sm90/layout.h"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr int tile_bytes = 32, item_bytes = 16;  // TileBound, ItemBound
constexpr int bound_threads = 128;

std::int64_t items(const Problem& problem, int block_m) {
  return problem.shape.batch * problem.shape.heads * ceil_div(problem.shape.seq, block_m);
}
std::int64_t tiles(const Problem& problem, int block_n) {
  return problem.shape.batch * problem.shape.heads * ceil_div(problem.shape.keys_seq(), block_n);
}

/// Bytes of the tiles' KeyBiases.
std::size_t bias_bytes(const Problem& problem, int block_n) {
  return static_cast<std::size_t>(tiles(problem, block_n)) *
         (16 + 4 * static_cast<std::size_t>(block_n));
}

/// Blocks of block_n queries and keys of all heads.
std::int64_t token_blocks(const Problem& problem, int block_n) {
  const Shape& s = problem.shape;
  return s.batch * s.heads * ceil_div(std::max(s.seq, s.keys_seq()), block_n);
}

}  // namespace

TensorMap row_map(const Problem& problem, std::size_t place, std::string buffer, std::int64_t seq,
                  std::int64_t heads, std::int64_t columns, int rows, const TokenStrides& strides) {
  return {place * tensor_map_bytes,
          std::move(buffer),
          problem.dtype,
          {columns, seq, heads, problem.shape.batch},
          {strides.seq, strides.heads, strides.batch},
          {FlashSm90Layout::columns, rows, 1, 1},
          128};
}

std::vector<Region> decay_bound_regions(const Problem& problem, const DecayBounds& bounds) {
  std::vector<Region> regions = decay_regions(problem);
  if (regions.empty()) return regions;
  const auto of_items = static_cast<std::size_t>(items(problem, bounds.block_m));
  regions.push_back({"first_tiles", 4 * of_items});
  regions.push_back(
      {"tile_bounds", tile_bytes * static_cast<std::size_t>(tiles(problem, bounds.block_n))});
  regions.push_back({"item_bounds", item_bytes * of_items});
  if (bounds.key_biases) regions.push_back({"key_biases", bias_bytes(problem, bounds.block_n)});
  return regions;
}

void add_decay_bounds(const Problem& problem, const DecayBounds& bounds, Recipe& recipe) {
  if (decay_of(problem) == Decay::none) return;
  recipe.imports.push_back(
      {"softmax_attention/sm90/first_tiles.cuh",
       constants(problem, {{"block_m", bounds.block_m},
                           {"block_n", bounds.block_n},
                           {"key_biases", bounds.key_biases}}),
       [problem, regions = decay_bound_regions(problem, bounds)](const Address& address) {
         return softmax_attention::bind(problem, address, regions);
       }});
  std::vector<Step> steps;
  add_decay_steps(problem, steps);
  const auto launch = [&](const char* entry, std::int64_t blocks) {
    steps.push_back(KernelLaunch{entry,
                                 {static_cast<unsigned>(blocks), 1, 1},
                                 {static_cast<unsigned>(bound_threads), 1, 1},
                                 0});
  };
  launch("attention_bounds", token_blocks(problem, bounds.block_n));
  launch("attention_first_tiles", ceil_div(32 * items(problem, bounds.block_m), bound_threads));
  for (Step& step : steps) {
    std::get<KernelLaunch>(step).module = static_cast<int>(recipe.imports.size());
    recipe.steps.push_back(std::move(step));
  }
}

void add_decay_bound_traffic(const Problem& problem, const DecayBounds& bounds, Traffic& traffic) {
  if (decay_of(problem) == Decay::none) return;
  add_decay_traffic(problem, traffic);
  double found = (4 + item_bytes) * static_cast<double>(items(problem, bounds.block_m)) +
                 tile_bytes * static_cast<double>(tiles(problem, bounds.block_n));
  if (bounds.key_biases) found += static_cast<double>(bias_bytes(problem, bounds.block_n));
  traffic.read_bytes += query_bytes(problem) + key_bytes(problem) + found;
  traffic.write_bytes += found;
}

double decay_bound_blocks(const Problem& problem, const DecayBounds& bounds) {
  if (decay_of(problem) == Decay::none) return 0;
  return static_cast<double>(
      std::max(items(problem, bounds.block_m), token_blocks(problem, bounds.block_n)));
}

}  // namespace gla_bench::softmax_attention
