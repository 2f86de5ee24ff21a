#include "kernels/softmax_attention/rows/cluster.hpp"

#include <gtest/gtest.h>

#include <map>

#include "kernels/softmax_attention/rows/ring_layout.h"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

const Variant& cluster() {
  static const Variant variant = softmax_cluster("softmax");
  return variant;
}

Tile ring_tile(int blocks, int threads, int rows, int stages, int piece = 0) {
  return {{"cluster", blocks},
          {"threads", threads},
          {"rows", rows},
          {"stages", stages},
          {"piece", piece}};
}

std::string ring_refusal(DType dtype, std::int64_t rows, std::int64_t columns, const Tile& tile) {
  return cluster()
      .reject(softmax_problem(dtype, rows, columns), tile, forward_h200())
      .value_or("taken");
}

KernelLaunch ring_launch(const Problem& problem, const Tile& tile) {
  const Recipe recipe = std::get<0>(cluster().code)(problem, tile);
  EXPECT_EQ(recipe.steps.size(), 1u);
  return std::get<KernelLaunch>(recipe.steps.at(0));
}

TEST(SoftmaxCluster, RejectsByNameAndNeverThrows) {
  const DType half = DType::bfloat16;
  expect_forward_reject(cluster(), softmax_problem(half, 100, 4096));
  EXPECT_EQ(cluster().reject(softmax_problem(half, 100, 4096), ring_tile(1, 256, 1, 2),
                             {80, 166912, 0, 108}),
            "needs sm_90: clusters and bulk copies");
  EXPECT_EQ(ring_refusal(half, 100, 4096, ring_tile(1, 256, 1, 2)), "taken");
  EXPECT_EQ(ring_refusal(half, 100, 65536, ring_tile(2, 256, 2, 2)),
            "a cluster holds one row at a time");
  EXPECT_EQ(ring_refusal(half, 100, 4096, ring_tile(2, 256, 1, 2)),
            "cluster=2 leaves a block less than 8 KiB of a row");
  EXPECT_EQ(ring_refusal(half, 100, 512, ring_tile(1, 8, 2, 2)),
            "threads * rows are not in 32..1024");
  EXPECT_EQ(ring_refusal(half, 100, 512, ring_tile(1, 256, 8, 2)),
            "threads * rows are not in 32..1024");
  EXPECT_EQ(ring_refusal(half, 100, 8192, ring_tile(1, 8, 4, 2)),
            "threads=8 have more than 64 vectors each");
  EXPECT_EQ(ring_refusal(half, 100, 512, ring_tile(1, 128, 1, 2)),
            "half of threads=128 already have a vector each");
  EXPECT_EQ(ring_refusal(half, 2, 512, ring_tile(1, 64, 4, 2)),
            "half of rows already covers batch");
  EXPECT_EQ(ring_refusal(half, 2, (std::int64_t{1} << 30) + 1, ring_tile(8, 1024, 1, 1)),
            "columns go up to 2^30");
  EXPECT_NE(ring_refusal(half, std::int64_t{1} << 40, 4096, ring_tile(1, 256, 1, 1)).find("blocks"),
            std::string::npos);
}

TEST(SoftmaxCluster, HoldsRowsOfFourHundredThousandFloats) {
  EXPECT_EQ(ring_refusal(DType::float32, 256, 131072, ring_tile(8, 512, 1, 3)), "taken");
  EXPECT_EQ(ring_refusal(DType::float32, 256, 400000, ring_tile(8, 1024, 1, 1)), "taken");
  EXPECT_NE(ring_refusal(DType::float32, 256, 500000, ring_tile(8, 1024, 1, 1)).find("shared"),
            std::string::npos);
}

TEST(SoftmaxCluster, AcceptedTilesFitTheLimits) {
  expect_forward_launches(cluster());
  expect_forward_work(cluster());
}

TEST(SoftmaxCluster, ReadsAndWritesRowsOnce) {
  const Problem problem = softmax_problem(DType::float32, 10, 131072);
  const Traffic traffic = cluster().traffic(problem, ring_tile(8, 512, 1, 3));
  EXPECT_EQ(traffic.read_bytes, 10.0 * 131072 * 4);
  EXPECT_EQ(traffic.write_bytes, 10.0 * 131072 * 4);
}

// Every block has its vectors and, where rows do not end with a vector, the one that the first row
// of a tile may reach into.
TEST(SoftmaxCluster, BuffersHoldATileWhereverItBegins) {
  for (const long long columns : {1LL, 7LL, 8LL, 100LL, 1001LL, 4096LL, 131071LL})
    for (const int io_bytes : {2, 4})
      for (const int blocks : {1, 2, 4, 8})
        for (const int rows : {1, 4, 32}) {
          const RowRingLayout sizes{columns, io_bytes, blocks, rows, 2, 1, 32, 0};
          const long long width = 16 / io_bytes, held = sizes.vectors * blocks;
          EXPECT_EQ(sizes.aligned, columns * io_bytes % 16 == 0);
          for (long long tile = 0; tile < 16; ++tile) {
            const long long begin = tile * rows * columns, end = begin + rows * columns;
            EXPECT_GE(held, (end + width - 1) / width - begin / width) << columns;
          }
          EXPECT_GE(sizes.thread_vectors * 32 * blocks, sizes.row_vectors);
          EXPECT_EQ(sizes.barriers % 8, 0);
          EXPECT_EQ(sizes.pairs % 16, 0);
        }
}

// Rows in pieces leave room for pieces of the next one.
TEST(SoftmaxCluster, PiecesAreOfWideRows) {
  const DType single = DType::float32, half = DType::bfloat16;
  // 64 KiB of a row for each block.
  EXPECT_EQ(ring_refusal(single, 256, 131072, ring_tile(8, 512, 1, 13, 16)), "taken");
  EXPECT_EQ(ring_refusal(single, 256, 131072, ring_tile(8, 512, 1, 4, 16)),
            "stages=4 are no more than the pieces of a row");
  EXPECT_EQ(ring_refusal(half, 256, 8192, ring_tile(1, 256, 1, 3, 16)),
            "a piece is already a block's share of a row");
  EXPECT_EQ(ring_refusal(half, 256, 8192, ring_tile(1, 256, 2, 3, 8)),
            "pieces are of one row at a time");
  EXPECT_EQ(ring_refusal(single, 256, 131072, ring_tile(8, 1024, 1, 13, 16)),
            "pieces take threads of 32..512");
  const KernelLaunch launch =
      ring_launch(softmax_problem(single, 256, 131072), ring_tile(8, 512, 1, 13, 16));
  EXPECT_EQ(launch.block.x, 512u + 32u);
  EXPECT_EQ(launch.grid.x, 128u);
  const RowRingLayout sizes{131071, 4, 8, 1, 13, 1, 512, 16};
  EXPECT_EQ(sizes.pieces, 5);  // rows that begin inside of a vector
  EXPECT_GE(sizes.pieces * sizes.piece_vectors, sizes.vectors);
  EXPECT_EQ(sizes.bytes, sizes.barriers + (2 * 13 + 2) * 8);
}

TEST(SoftmaxCluster, BlocksEndWithTheirTileOrStay) {
  const Problem narrow = softmax_problem(DType::bfloat16, 100000, 512);
  EXPECT_EQ(ring_launch(narrow, ring_tile(1, 32, 8, 1)).grid.x, 12500u);
  // 256 threads: 1536 / 256 blocks on each of 132 multiprocessors.
  EXPECT_EQ(ring_launch(narrow, ring_tile(1, 32, 8, 2)).grid.x, 6u * 132u);
  const Problem wide = softmax_problem(DType::float32, 256, 131072);
  EXPECT_EQ(ring_launch(wide, ring_tile(8, 512, 1, 1)).grid.x, 8u * 256u);
  // 192 KiB a block: one on each of the 128 multiprocessors that clusters of eight leave.
  EXPECT_EQ(ring_launch(wide, ring_tile(8, 512, 1, 3)).grid.x, 128u);
  // No more clusters than tiles.
  EXPECT_EQ(ring_launch(softmax_problem(DType::float32, 5, 131072), ring_tile(8, 512, 1, 3)).grid.x,
            40u);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
