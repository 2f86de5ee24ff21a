// The host side of flash.cuh: the variants flash1 and flash2.

#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/flash/walk.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

/// Dividing at every tile takes registers, which a warp has left only if it holds no more than 16
/// rows.
TileSpace space(const FlashUse& use) {
  const std::vector<int> warps = use.divides ? std::vector{8, 4} : std::vector{4, 8};
  return {{"block_m", {128, 64}, "queries of a block"},
          {"block_n", {64, 32, 128}, "keys in hand at once"},
          {"warps", warps, "warps of a block, which share its queries"},
          {"stages", {2, 1}, "tiles of keys in shared memory: 2 loads the next one meanwhile"},
          {"terms", {1, 3}, "tf32 products per float32 product: 3 gives float32's accuracy"}};
}

FlashShape shape(const Problem& problem, const Tile& tile) {
  return flash_shape(problem, tile, choice(tile, "warps"), 1);
}

/// Blocks of each head.
std::int64_t blocks(const Problem& problem, const Tile& tile) {
  return blocks_of(problem, problem.shape.seq, shape(problem, tile).block_m);
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits,
                                  const FlashUse& use) {
  if (auto reason = refuse_flash(problem, tile, shape(problem, tile), use, limits)) return reason;
  return refuse_blocks(static_cast<double>(problem.shape.heads) *
                       static_cast<double>(blocks(problem, tile)));
}

/// One pass over the inputs. A head's keys and values stay in the L2 cache while its blocks walk.
Traffic traffic(const Problem& problem, const Tile&) {
  Traffic bytes{query_bytes(problem) + key_bytes(problem) + value_bytes(problem),
                output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0)};
  add_decay_traffic(problem, bytes);
  return bytes;
}

Recipe recipe(const Problem& problem, const Tile& tile, const FlashUse& use) {
  const FlashShape its = shape(problem, tile);
  const FlashLayout layout{its};
  Recipe r{"softmax_attention/flash/flash.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", layout.bytes});
  r.constants.push_back({"launch", "residency", flash_residency(its)});
  r.constants.push_back({"launch", "divide", use.divides});
  add_decay_steps(problem, r.steps);
  const auto grid = problem.shape.heads * blocks(problem, tile);
  r.steps.push_back(KernelLaunch{"attention_flash",
                                 {static_cast<unsigned>(grid), 1, 1},
                                 {static_cast<unsigned>(layout.threads), 1, 1},
                                 static_cast<std::size_t>(layout.bytes)});
  return r;
}

Variant flash(std::string_view op, std::string_view name, std::string_view summary,
              const FlashUse& use) {
  return cuda_variant(
      op, Direction::forward,
      {name,
       summary,
       space(use),
       {"softmax_attention/flash/flash.cuh", "softmax_attention/flash/flash.cpp",
        "softmax_attention/flash/walk.cpp"},
       [](const Problem& problem, const Tile& tile) {
         return product_arithmetic(problem, choice(tile, "terms"));
       },
       [use](const Problem& problem, const Tile& tile, const Limits& limits) {
         return reject(problem, tile, limits, use);
       },
       traffic,
       [](const Problem& problem, const Tile& tile) {
         return flash_flops(problem, shape(problem, tile), 1);
       },
       [](const Problem& problem, const Tile&) { return decay_regions(problem); },
       [use](const Problem& problem, const Tile& tile) { return recipe(problem, tile, use); },
       true});
}

}  // namespace

Variant flash1(std::string_view op) {
  return flash(op, "flash1", "one launch; outputs kept divided by the running sum at every step",
               {true});
}

Variant flash2(std::string_view op) {
  return flash(op, "flash2", "one launch; outputs divided once, at the end", {false});
}

}  // namespace gla_bench::softmax_attention
