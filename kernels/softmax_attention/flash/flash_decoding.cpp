// The host side of flash_decoding.cuh: flash_decoding and flash_decoding_pp.

#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/flash/walk.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr int warps = 4;  // warps of a block, in both kernels
/// The single reference (log2) of flash_decoding_pp. Logits of normalised queries and keys lie
/// around zero.
constexpr int fixed_reference = 0;

TileSpace space() {
  return {{"block_m", {16, 64}, "rows of a block: queries times the heads of a group"},
          {"block_n", {64, 128, 32}, "keys in hand at once"},
          {"split", {1024, 2048, 512, 4096, 256, 128, 64}, "keys of a block"},
          {"stages", {2, 1}, "tiles of keys in shared memory: 2 loads the next one meanwhile"},
          {"terms", {1, 3}, "tf32 products per float32 product: 3 gives float32's accuracy"}};
}

/// The number of heads whose queries a block takes together. With a decay it is 1, because every
/// head has its own.
std::int64_t packed(const Problem& problem) {
  return decay_of(problem) == Decay::none ? group(problem) : 1;
}

FlashShape shape(const Problem& problem, const Tile& tile) {
  const int warps_m = choice(tile, "block_m") == 64 ? 4 : 1;
  return flash_shape(problem, tile, warps_m, warps / warps_m);
}

std::int64_t splits(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.keys_seq(), choice(tile, "split"));
}

std::int64_t row_tiles(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.seq * packed(problem), choice(tile, "block_m"));
}

std::int64_t rows(const Problem& problem) {
  return problem.shape.batch * problem.shape.seq * problem.shape.heads;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  const int split = choice(tile, "split");
  if (auto reason = refuse_flash(problem, tile, shape(problem, tile), {}, limits)) return reason;
  if (split % choice(tile, "block_n") != 0)
    return "split=" + std::to_string(split) + " is not a multiple of block_n";
  if (split > 64 && split >= problem.shape.keys_seq())
    return "split=" + std::to_string(split) + " is no split of so few keys";
  const Shape& s = problem.shape;
  const double sequences =
      static_cast<double>(s.batch) * static_cast<double>(s.heads / packed(problem));
  if (auto reason = refuse_blocks(sequences * static_cast<double>(row_tiles(problem, tile)) *
                                  static_cast<double>(splits(problem, tile))))
    return reason;
  return refuse_blocks(static_cast<double>(s.batch) * static_cast<double>(s.seq) *
                       static_cast<double>(s.heads));
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  std::vector<Region> regions = decay_regions(problem);
  const auto parts = static_cast<std::size_t>(splits(problem, tile) * rows(problem));
  regions.push_back({"outputs", parts * static_cast<std::size_t>(problem.shape.value_dim) * 4});
  regions.push_back({"log_sums", parts * 4});
  return regions;
}

/// Queries are read once for each split, and keys and values once, because the heads of a group and
/// the tiles of rows find them in the L2 cache. Every part is written and read once.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto count = static_cast<double>(splits(problem, tile));
  const double parts = count * static_cast<double>(rows(problem)) *
                       static_cast<double>(problem.shape.value_dim + 1) * 4;
  Traffic bytes{query_bytes(problem) * count + key_bytes(problem) + value_bytes(problem) + parts,
                output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0) + parts};
  add_decay_traffic(problem, bytes);
  return bytes;
}

/// The operations of the walks, plus one weighting and one addition for each element of a part.
double flops(const Problem& problem, const Tile& tile) {
  return flash_flops(problem, shape(problem, tile), packed(problem)) +
         2 * static_cast<double>(splits(problem, tile)) * static_cast<double>(rows(problem)) *
             static_cast<double>(problem.shape.value_dim);
}

Recipe recipe(const Problem& problem, const Tile& tile, bool fixed) {
  const FlashShape its = shape(problem, tile);
  const FlashLayout layout{its};
  Recipe r{"softmax_attention/flash/flash_decoding.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", layout.bytes});
  r.constants.push_back({"launch", "residency", flash_residency(its)});
  r.constants.push_back({"launch", "warps_m", its.warps_m});
  r.constants.push_back({"launch", "warps_n", its.warps_n});
  r.constants.push_back({"launch", "fixed", fixed});
  r.constants.push_back({"launch", "reference", fixed_reference});
  add_decay_steps(problem, r.steps);
  const Shape& s = problem.shape;
  const auto grid =
      s.batch * (s.heads / packed(problem)) * row_tiles(problem, tile) * splits(problem, tile);
  r.steps.push_back(KernelLaunch{"attention_split",
                                 {static_cast<unsigned>(grid), 1, 1},
                                 {static_cast<unsigned>(layout.threads), 1, 1},
                                 static_cast<std::size_t>(layout.bytes)});
  r.steps.push_back(KernelLaunch{
      "attention_merge", {static_cast<unsigned>(rows(problem)), 1, 1}, {32 * warps, 1, 1}, 0});
  return r;
}

Variant decoding(std::string_view op, std::string_view name, std::string_view summary, bool fixed) {
  return cuda_variant(
      op, Direction::forward,
      {name,
       summary,
       space(),
       {"softmax_attention/flash/flash_decoding.cuh", "softmax_attention/flash/flash_decoding.cpp",
        "softmax_attention/flash/walk.cpp"},
       [](const Problem& problem, const Tile& tile) {
         return product_arithmetic(problem, choice(tile, "terms"));
       },
       reject,
       traffic,
       flops,
       workspace,
       [fixed](const Problem& problem, const Tile& tile) { return recipe(problem, tile, fixed); },
       false,
       true});
}

}  // namespace

Variant flash_decoding(std::string_view op) {
  return decoding(op, "flash_decoding", "keys split over blocks, parts merged by their log-sum-exp",
                  false);
}

Variant flash_decoding_pp(std::string_view op) {
  return decoding(op, "flash_decoding_pp",
                  "keys split over blocks, one fixed reference, done again where it does not suit",
                  true);
}

}  // namespace gla_bench::softmax_attention
