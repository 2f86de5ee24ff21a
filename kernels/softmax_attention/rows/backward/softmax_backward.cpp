#include "kernels/softmax_attention/rows/backward/softmax_backward.hpp"

#include <algorithm>
#include <cstring>

#include "core/operator.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/rows/ring.hpp"
#include "kernels/softmax_attention/rows/vectors.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr const char* folder = "softmax_attention/rows/backward/";

Arithmetic arithmetic(const Problem&, const Tile&) {
  return Arithmetic::float32;
}

std::vector<std::string> sources(const char* kernel) {
  return {std::string(folder) + kernel + ".cuh", std::string(folder) + "softmax_backward.cpp",
          "softmax_attention/rows/vectors.cpp"};
}

KernelLaunch launch(std::string entry, std::int64_t blocks, int threads) {
  return {std::move(entry),
          {static_cast<unsigned>(blocks), 1, 1},
          {static_cast<unsigned>(threads), 1, 1},
          0};
}

// two_pass: one block walks over whole rows.

int rows_of_block(const Tile& tile) {
  return std::max(1, 128 / std::max(1, choice(tile, "threads")));
}

std::optional<std::string> reject_two_pass(const Problem& problem, const Tile& tile,
                                           const Limits&) {
  if (auto reason = refuse_columns(problem)) return reason;
  return refuse_blocks(static_cast<double>(problem.shape.batch) / rows_of_block(tile));
}

Recipe two_pass_recipe(const Problem& problem, const Tile& tile) {
  const int rows = rows_of_block(tile);
  Recipe r{std::string(folder) + "two_pass.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "width", vector_width(problem)});
  r.constants.push_back({"launch", "rows", rows});
  r.steps.push_back(launch("softmax_backward_two_pass", ceil_div(problem.shape.batch, rows),
                           choice(tile, "threads") * rows));
  return r;
}

// blocked: rows are cut into blocks.

/// Elements of each tensor that a thread's registers hold.
constexpr int most_elements = 32;

std::int64_t blocks_of_tile(const Problem& problem, const Tile& tile) {
  return blocks_of_row(problem, choice(tile, "block"));
}

std::optional<std::string> reject_blocked(const Problem& problem, const Tile& tile, const Limits&) {
  return refuse_held_block(problem, choice(tile, "block"), choice(tile, "threads"), most_elements);
}

double sum_bytes(const Problem& problem, const Tile& tile) {
  return 4 * static_cast<double>(problem.shape.batch) *
         static_cast<double>(blocks_of_tile(problem, tile));
}

Traffic blocked_traffic(const Problem& problem, const Tile& tile) {
  const double row = row_bytes(problem), sums = sum_bytes(problem, tile);
  const std::int64_t blocks = blocks_of_tile(problem, tile);
  if (blocks == 1) return {2 * row, row};
  return {4 * row + sums * static_cast<double>(blocks), row + sums};
}

std::vector<Region> blocked_workspace(const Problem& problem, const Tile& tile) {
  if (blocks_of_tile(problem, tile) == 1) return {};
  return {{"sums", static_cast<std::size_t>(sum_bytes(problem, tile))}};
}

Recipe blocked_recipe(const Problem& problem, const Tile& tile) {
  const std::int64_t blocks = blocks_of_tile(problem, tile);
  Recipe r{std::string(folder) + "blocked.cuh", constants(problem, tile), {}};
  r.constants.push_back({"launch", "width", vector_width(problem)});
  r.constants.push_back({"launch", "blocks", static_cast<int>(blocks)});
  const auto add = [&](const char* entry) {
    r.steps.push_back(launch(entry, problem.shape.batch * blocks, choice(tile, "threads")));
  };
  if (blocks == 1) {
    add("softmax_backward_row");
  } else {
    add("softmax_backward_block");
    add("softmax_backward_merge");
  }
  return r;
}

}  // namespace

Variant with_gradient_params(Variant variant) {
  variant.bind = [workspace = variant.workspace](const Problem& problem, const Tile& tile,
                                                 const Address& address) {
    SoftmaxBackwardParams p{};
    p.y = address("y");
    p.dy = address("dy");
    p.dx = address("dx");
    for (const Region& region : workspace(problem, tile))
      p.sums = static_cast<float*>(address(region.name));
    p.rows = problem.shape.batch;
    p.columns = problem.shape.columns;
    p.scale = static_cast<float>(scale_of(*find_operator(problem.op), problem));
    ParamBytes bytes(sizeof p);
    std::memcpy(bytes.data(), &p, sizeof p);
    return bytes;
  };
  return variant;
}

double gradient_flops(const Problem& problem, const Tile&) {
  return 5 * static_cast<double>(problem.shape.batch) * static_cast<double>(problem.shape.columns);
}

Variant backward_two_pass(std::string_view op) {
  return with_gradient_params(cuda_variant(
      op, Direction::backward,
      {"two_pass",
       "the sum of y dy in one pass over the row, the gradients in a second",
       {{"threads", {256, 32, 1024}, "threads that share a row"}},
       sources("two_pass"),
       arithmetic,
       reject_two_pass,
       [](const Problem& problem, const Tile& tile) {
         const double read =
             passes_from_memory(problem, 2, 2, rows_of_block(tile), choice(tile, "threads"));
         return Traffic{2 * read * row_bytes(problem), row_bytes(problem)};
       },
       gradient_flops,
       {},
       two_pass_recipe}));
}

Variant backward_blocked(std::string_view op) {
  return with_gradient_params(
      cuda_variant(op, Direction::backward,
                   {"blocked",
                    "blocks of a row held in registers and summed independently",
                    {{"block", {4096, 8192, 16384, 2048, 1024}, "columns held in registers"},
                     {"threads", {256, 512, 1024, 128}, "threads of a block"}},
                    sources("blocked"),
                    arithmetic,
                    reject_blocked,
                    blocked_traffic,
                    gradient_flops,
                    blocked_workspace,
                    blocked_recipe}));
}

Variant backward_cluster(std::string_view op) {
  constexpr int inputs = 2;
  std::vector<std::string> from = sources("cluster");
  from.push_back("softmax_attention/rows/ring.cpp");
  return with_gradient_params(
      cuda_variant(op, Direction::backward,
                   {"cluster",
                    "rows held in the shared memory of clusters of blocks, read once",
                    ring_space(),
                    std::move(from),
                    arithmetic,
                    [](const Problem& problem, const Tile& tile, const Limits& limits) {
                      return refuse_ring(problem, tile, inputs, limits);
                    },
                    [](const Problem& problem, const Tile&) {
                      return Traffic{2 * row_bytes(problem), row_bytes(problem)};
                    },
                    gradient_flops,
                    {},
                    [](const Problem& problem, const Tile& tile) {
                      return ring_recipe(problem, tile, inputs, std::string(folder) + "cluster.cuh",
                                         "softmax_backward_cluster");
                    }}));
}

}  // namespace gla_bench::softmax_attention
