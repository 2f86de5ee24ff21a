#include "kernels/softmax_attention/rows/ring.hpp"

#include <algorithm>

#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/rows/ring_layout.h"
#include "kernels/softmax_attention/rows/vectors.hpp"

namespace gla_bench::softmax_attention {
namespace {

/// The multiprocessors of an H100 or H200 come in groups of 16 or 18, in which clusters of four and
/// more leave some idle. With fewer, some blocks would wait for others to end.
constexpr int multiprocessors_of_large_clusters = 128;
constexpr std::int64_t shared_of_multiprocessor = 233472, reserved_for_block = 1024;
/// With more threads than this they would have less than 40 registers each, or 64 where they hold
/// many elements.
constexpr int threads_of_multiprocessor = 1536, threads_that_hold_many = 1024, many = 16;
constexpr std::int64_t blocks_of_multiprocessor = 32;
constexpr int scratch_bytes = 256;  // shared memory that is no part of the layout
constexpr std::int64_t least_share_bytes = 8192, most_vectors_of_thread = 64;

/// Every choice is at least 1, also for tiles that will be refused.
int at_least_one(const Tile& tile, std::string_view axis) {
  return std::max(1, choice(tile, axis));
}

RowRingLayout layout(const Problem& problem, const Tile& tile, int inputs) {
  return {problem.shape.columns,         static_cast<int>(size_of(problem.dtype)),
          at_least_one(tile, "cluster"), at_least_one(tile, "rows"),
          at_least_one(tile, "stages"),  inputs,
          at_least_one(tile, "threads"), std::max(0, choice(tile, "piece"))};
}

int block_threads(const Tile& tile) {
  return at_least_one(tile, "threads") * at_least_one(tile, "rows");
}

/// With the warp that copies pieces.
int launched_threads(const Tile& tile) {
  return block_threads(tile) + (choice(tile, "piece") > 0 ? 32 : 0);
}

/// Blocks of one multiprocessor at the same time.
int residency(const RowRingLayout& sizes, const Tile& tile) {
  const std::int64_t by_memory =
      shared_of_multiprocessor / (sizes.bytes + scratch_bytes + reserved_for_block);
  const std::int64_t by_threads =
      (sizes.held > many ? threads_that_hold_many : threads_of_multiprocessor) /
      launched_threads(tile);
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min({by_memory, by_threads, blocks_of_multiprocessor})));
}

std::int64_t tiles(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.batch, at_least_one(tile, "rows"));
}

}  // namespace

TileSpace ring_space() {
  return {{"cluster", {1, 2, 4, 8}, "blocks that hold a row together"},
          {"threads", {256, 128, 64, 32, 8, 512, 1024}, "threads of each block that share a row"},
          {"rows", {1, 2, 4, 8, 16, 32}, "rows of a block at a time"},
          {"stages",
           {2, 1, 3, 4, 6, 9, 13},
           "tiles, or pieces, in shared memory; 1: a block ends with its tile"},
          {"piece", {0, 8, 16}, "KiB of a wide row that come and go together; 0: whole tiles"}};
}

std::optional<std::string> refuse_ring(const Problem& problem, const Tile& tile, int inputs,
                                       const Limits& limits) {
  if (limits.arch != 90) return "needs sm_90: clusters and bulk copies";
  const int cluster = choice(tile, "cluster"), threads = choice(tile, "threads");
  const auto size = static_cast<std::int64_t>(size_of(problem.dtype));
  if (problem.shape.columns > std::int64_t{1} << 30) return "columns go up to 2^30";
  if (cluster > 1 && choice(tile, "rows") > 1) return "a cluster holds one row at a time";
  if (cluster > 1 && problem.shape.columns * size / cluster < least_share_bytes)
    return "cluster=" + std::to_string(cluster) + " leaves a block less than 8 KiB of a row";
  if (block_threads(tile) < 32 || block_threads(tile) > 1024)
    return "threads * rows are not in 32..1024";
  const RowRingLayout sizes = layout(problem, tile, inputs);
  if (choice(tile, "piece") > 0) {
    if (choice(tile, "rows") > 1) return "pieces are of one row at a time";
    if (threads < 32 || threads > 992) return "pieces take threads of 32..512";
    if (sizes.pieces < 2) return "a piece is already a block's share of a row";
    if (sizes.stages <= sizes.pieces)
      return "stages=" + std::to_string(sizes.stages) + " are no more than the pieces of a row";
  }
  if (auto reason = refuse_shared(sizes.bytes + scratch_bytes, limits)) return reason;
  const std::int64_t vectors =
      ceil_div(problem.shape.columns * size, RowRingLayout::vector_bytes * cluster);
  if (vectors > most_vectors_of_thread * threads)
    return "threads=" + std::to_string(threads) + " have more than 64 vectors each";
  if (threads > 32 && threads >= 2 * vectors)
    return "half of threads=" + std::to_string(threads) + " already have a vector each";
  const std::int64_t all = tiles(problem, tile);
  if (choice(tile, "rows") > 1 && choice(tile, "rows") >= 2 * problem.shape.batch)
    return "half of rows already covers batch";
  return refuse_blocks(static_cast<double>(all) * cluster);
}

Recipe ring_recipe(const Problem& problem, const Tile& tile, int inputs, std::string source,
                   std::string entry) {
  const RowRingLayout sizes = layout(problem, tile, inputs);
  const int cluster = at_least_one(tile, "cluster");
  Recipe r{std::move(source), constants(problem, tile), {}};
  const auto constant = [&](const char* name, std::int64_t value) {
    r.constants.push_back({"launch", name, static_cast<int>(value)});
  };
  constant("aligned", sizes.aligned);
  constant("buffer_bytes", sizes.buffer_bytes);
  constant("share_bytes", sizes.share_bytes);
  constant("pieces", sizes.piece > 0 ? sizes.pieces : 0);
  constant("launched_threads", launched_threads(tile));
  constant("pairs", sizes.pairs);
  constant("barriers", sizes.barriers);
  constant("thread_vectors", sizes.thread_vectors);
  constant("exact", sizes.exact);
  constant("held", sizes.held);
  constant("residency", residency(sizes, tile));
  const std::int64_t held =
      std::int64_t{cluster > 2 ? multiprocessors_of_large_clusters : multiprocessors} *
      residency(sizes, tile) / cluster;
  const std::int64_t all = tiles(problem, tile);
  const std::int64_t clusters = choice(tile, "stages") > 1 ? std::min(all, held) : all;
  r.steps.push_back(KernelLaunch{std::move(entry),
                                 {static_cast<unsigned>(clusters * cluster), 1, 1},
                                 {static_cast<unsigned>(launched_threads(tile)), 1, 1},
                                 static_cast<std::size_t>(sizes.bytes)});
  return r;
}

}  // namespace gla_bench::softmax_attention
