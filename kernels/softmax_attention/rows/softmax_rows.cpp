// The host side of three_pass.cuh, online.cuh and online_blocked.cuh: softmax over rows.

#include <algorithm>

#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/rows/vectors.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

/// The operations of a kernel for each element: scale, subtract, exponential, add, divide.
double flops(const Problem& problem, const Tile&) {
  return 5 * static_cast<double>(problem.shape.batch) * static_cast<double>(problem.shape.columns);
}

Arithmetic arithmetic(const Problem&, const Tile&) {
  return Arithmetic::float32;
}

// three_pass and online: one block walks over whole rows.

TileSpace walked_space() {
  return {{"threads", {256, 32, 1024}, "threads that share a row"}};
}

int rows_of_block(const Tile& tile) {
  return std::max(1, 128 / std::max(1, choice(tile, "threads")));
}

std::optional<std::string> reject_walked(const Problem& problem, const Tile& tile, const Limits&) {
  if (auto reason = refuse_columns(problem)) return reason;
  return refuse_blocks(static_cast<double>(problem.shape.batch) / rows_of_block(tile));
}

Recipe walked_recipe(const Problem& problem, const Tile& tile, std::string_view name) {
  const int rows = rows_of_block(tile);
  Recipe r{"softmax_attention/rows/" + std::string(name) + ".cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "width", vector_width(problem)});
  r.constants.push_back({"launch", "rows", rows});
  r.steps.push_back(KernelLaunch{"softmax_" + std::string(name),
                                 {static_cast<unsigned>(ceil_div(problem.shape.batch, rows)), 1, 1},
                                 {static_cast<unsigned>(choice(tile, "threads") * rows), 1, 1},
                                 0});
  return r;
}

Variant walked(std::string_view op, std::string_view name, std::string_view summary, int passes) {
  const std::string text(name);
  return cuda_variant(
      op, Direction::forward,
      {name,
       summary,
       walked_space(),
       {"softmax_attention/rows/" + text + ".cuh", "softmax_attention/rows/softmax_rows.cpp",
        "softmax_attention/rows/vectors.cpp"},
       arithmetic,
       reject_walked,
       [passes](const Problem& problem, const Tile& tile) {
         const double read =
             passes_from_memory(problem, passes, 1, rows_of_block(tile), choice(tile, "threads"));
         return Traffic{read * row_bytes(problem), row_bytes(problem)};
       },
       flops,
       {},
       [text](const Problem& problem, const Tile& tile) {
         return walked_recipe(problem, tile, text);
       }});
}

// online_blocked: rows are cut into blocks.

TileSpace blocked_space() {
  return {{"block", {4096, 8192, 16384, 2048, 1024}, "columns that a block holds in registers"},
          {"threads", {256, 512, 1024, 128}, "threads of a block"}};
}

std::int64_t blocks_of_tile(const Problem& problem, const Tile& tile) {
  return blocks_of_row(problem, choice(tile, "block"));
}

std::optional<std::string> reject_blocked(const Problem& problem, const Tile& tile, const Limits&) {
  return refuse_held_block(problem, choice(tile, "block"), choice(tile, "threads"), 64);
}

/// Bytes of the pairs (reference, sum), one for each block.
double pair_bytes(const Problem& problem, const Tile& tile) {
  return 8 * static_cast<double>(problem.shape.batch) *
         static_cast<double>(blocks_of_tile(problem, tile));
}

Traffic blocked_traffic(const Problem& problem, const Tile& tile) {
  const double row = row_bytes(problem), pairs = pair_bytes(problem, tile);
  const std::int64_t blocks = blocks_of_tile(problem, tile);
  if (blocks == 1) return {row, row};
  return {2 * row + pairs * static_cast<double>(blocks), row + pairs};
}

std::vector<Region> blocked_workspace(const Problem& problem, const Tile& tile) {
  if (blocks_of_tile(problem, tile) == 1) return {};
  return {{"pairs", static_cast<std::size_t>(pair_bytes(problem, tile))}};
}

Recipe blocked_recipe(const Problem& problem, const Tile& tile) {
  const std::int64_t blocks = blocks_of_tile(problem, tile);
  Recipe r{"softmax_attention/rows/online_blocked.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "width", vector_width(problem)});
  r.constants.push_back({"launch", "blocks", static_cast<int>(blocks)});
  const auto launch = [&](const char* entry) {
    r.steps.push_back(KernelLaunch{entry,
                                   {static_cast<unsigned>(problem.shape.batch * blocks), 1, 1},
                                   {static_cast<unsigned>(choice(tile, "threads")), 1, 1},
                                   0});
  };
  if (blocks == 1) {
    launch("softmax_row");
  } else {
    launch("softmax_block");
    launch("softmax_merge");
  }
  return r;
}

}  // namespace

Variant three_pass(std::string_view op) {
  return walked(op, "three_pass", "maximum, sum and quotients, each from its own pass over the row",
                3);
}

Variant online(std::string_view op) {
  return walked(op, "online", "running maximum and sum in one pass, quotients in a second", 2);
}

Variant online_blocked(std::string_view op) {
  return cuda_variant(
      op, Direction::forward,
      {"online_blocked",
       "blocks of a row summed independently and merged in any order",
       blocked_space(),
       {"softmax_attention/rows/online_blocked.cuh", "softmax_attention/rows/softmax_rows.cpp",
        "softmax_attention/rows/vectors.cpp"},
       arithmetic,
       reject_blocked,
       blocked_traffic,
       flops,
       blocked_workspace,
       blocked_recipe});
}

}  // namespace gla_bench::softmax_attention
