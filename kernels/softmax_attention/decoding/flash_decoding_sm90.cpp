// The host side of flash_decoding_sm90.cuh.

#include "kernels/softmax_attention/decoding/flash_decoding_sm90.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/softmax_attention/decoding/division.h"
#include "kernels/softmax_attention/decoding/layout.h"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/sm90/parts.hpp"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr std::size_t maps = 2;
/// Of a multiprocessor; each block takes a kilobyte beside its own.
constexpr std::size_t reserved_shared_bytes = 1024;
constexpr int most_tiles = 1 << 30;

TileSpace space() {
  return {{"blocks", {1, 2}, "blocks of a multiprocessor"},
          {"least_keys", {256, 64, 1024}, "keys of a block where they are few"},
          {"block_n", {64, 128}, "keys of a tile"},
          {"stages", {3, 2}, "tiles of keys and of values in shared memory"}};
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
          at_least_one(tile, "blocks"),
          at_least_one(tile, "stages"),
          biased(problem) ? static_cast<int>(biases) : 0};
}

std::int64_t rows(const Problem& problem) {
  return problem.shape.batch * problem.shape.seq * problem.shape.heads;
}

DecodingSizes sizes_of_division(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const DecodingLayout sizes = layout(problem, tile);
  const std::int64_t row_tiles = ceil_div(s.seq * group(problem), DecodingLayout::rows);
  return {s.batch,
          s.keys_seq(),
          static_cast<int>(s.keys_heads()),
          static_cast<int>(row_tiles),
          sizes.block_n,
          sizes.most_blocks,
          at_least_one(tile, "least_keys")};
}
DecodingDivision division(const Problem& problem, const Tile& tile) {
  const DecodingSizes sizes = sizes_of_division(problem, tile);
  return DecodingDivision::of(sizes, DecodingDivision::heads_of_gang(sizes));
}
std::int64_t blocks(const DecodingDivision& of) {
  return std::int64_t{1} * of.gangs * of.members;
}

/// Whether sequences may have parts. Where keys are few and each sequence has a gang of its own,
/// nothing is merged. Where they are many, it would be chance.
bool is_divided(const DecodingDivision& of) {
  return of.pieces > 1 || of.gangs != of.sequences;
}

/// What a problem leaves in the workspace and reads of its queries, both in items: a block's tiles
/// of one sequence.
struct Items {
  double all = 0, divided = 0;  ///< divided: of sequences that several blocks have
};

Items items_of(const DecodingDivision& d) {
  double boundaries = 0, divided_sequences = 0;
  int last = -1;
  for (int gang = 1; gang < d.gangs; ++gang) {
    const int tile = d.begin(gang);
    if (tile % d.tiles == 0) continue;  // between two sequences
    ++boundaries;
    if (tile / d.tiles != last) ++divided_sequences;
    last = tile / d.tiles;
  }
  return {(d.sequences + boundaries) * d.members, (divided_sequences + boundaries) * d.members};
}

/// Among tiles that differ in `least_keys` alone and have the same blocks, the first is taken.
std::optional<std::string> refuse_same_division(const Problem& problem, Tile tile) {
  const int own = choice(tile, "least_keys");
  const int gangs = division(problem, tile).gangs;
  const TileSpace axes = space();
  for (const int earlier : axes[1].values) {
    if (earlier == own) break;
    tile["least_keys"] = earlier;
    if (division(problem, tile).gangs == gangs)
      return "least_keys=" + std::to_string(own) +
             " gives the blocks of least_keys=" + std::to_string(earlier);
  }
  return std::nullopt;
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
  const int needed = sizes.registers_beside_queries + sizes.registers_of_queries;
  if (needed > sizes.registers_there)
    return "about " + std::to_string(needed) + " registers a thread, " +
           std::to_string(sizes.registers_there) + " are there";
  if (auto reason = refuse_shared(sizes.bytes, limits)) return reason;
  if (sizes.blocks * (sizes.bytes + reserved_shared_bytes) >
      limits.shared_per_block + reserved_shared_bytes)
    return "blocks=" + std::to_string(sizes.blocks) + " have no room beside one another";
  if (auto reason = refuse_blocks(static_cast<double>(rows(problem)))) return reason;
  const double tiles = static_cast<double>(s.batch * s.keys_heads()) *
                       static_cast<double>(ceil_div(s.keys_seq(), sizes.block_n));
  if (tiles > most_tiles) return "batch * key_heads * tiles of keys go up to 2^30";
  return refuse_same_division(problem, tile);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const std::size_t rows_of_parts =
      static_cast<std::size_t>(division(problem, tile).parts()) * DecodingLayout::rows;
  std::vector<Region> regions{
      {"outputs", rows_of_parts * static_cast<std::size_t>(problem.shape.value_dim) * 4},
      {"log_sums", rows_of_parts * 4}};
  if (biased(problem)) regions.push_back({"part_decays", rows_of_parts * 4});
  return regions;
}

/// The rows that an item has on average.
double rows_of_item(const Problem& problem, const DecodingDivision& d) {
  return static_cast<double>(rows(problem)) / (static_cast<double>(d.sequences) * d.members);
}

/// Queries are read by each block that has keys of their head, keys and values once. How much of
/// the values a decay leaves unread is in the inputs, so all of them count.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const DecodingDivision d = division(problem, tile);
  const Items items = items_of(d);
  const double parts = items.divided * rows_of_item(problem, d) *
                       static_cast<double>(problem.shape.value_dim + (biased(problem) ? 2 : 1)) * 4;
  const double readers = items.all / (static_cast<double>(d.sequences) * d.members);
  return {query_bytes(problem) * readers + key_bytes(problem) + value_bytes(problem) +
              decay_bytes(problem) + parts,
          output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0) + parts};
}

/// The products of all rows of a block with all its keys, and the weighting of the parts.
double flops(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const DecodingDivision d = division(problem, tile);
  const double products = static_cast<double>(d.sequences) * d.members * d.tiles *
                          layout(problem, tile).block_n * DecodingLayout::rows;
  return 2 * products * static_cast<double>(s.key_dim + s.value_dim) +
         2 * items_of(d).divided * rows_of_item(problem, d) * static_cast<double>(s.value_dim);
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  const DecodingLayout sizes = layout(problem, tile);
  const Shape& s = problem.shape;
  Recipe r{"softmax_attention/decoding/flash_decoding_sm90.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "shared_bytes", sizes.bytes});
  r.constants.push_back({"launch", "biased", sizes.biased});
  const DecodingDivision divided = division(problem, tile);
  r.constants.push_back({"launch", "heads_of_gang", divided.heads});
  const auto launch = [&](const char* entry, std::int64_t grid, int threads, int shared) {
    KernelLaunch step{entry,
                      {static_cast<unsigned>(grid), 1, 1},
                      {static_cast<unsigned>(threads), 1, 1},
                      static_cast<std::size_t>(shared)};
    step.overlaps = !r.steps.empty();
    r.steps.push_back(std::move(step));
  };
  launch("decoding_divided", blocks(divided), sizes.threads, sizes.bytes);
  if (is_divided(divided))
    launch("decoding_merge", std::min<std::int64_t>(rows(problem), DecodingLayout::merge_blocks),
           DecodingLayout::merge_threads, 0);
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
