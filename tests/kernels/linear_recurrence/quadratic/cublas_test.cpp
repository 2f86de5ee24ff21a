#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/quadratic/cublas_layout.h"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& cublas_variant() {
  static const Variant v = parallel_cublas(gla_member());
  return v;
}

std::vector<Step> steps(const Problem& problem, const Tile& tile) {
  return std::get<0>(parallel_cublas(member_of(problem)).code)(problem, tile).steps;
}

std::vector<MatrixProduct> products(const Problem& problem, const Tile& tile) {
  std::vector<MatrixProduct> list;
  for (const Step& step : steps(problem, tile))
    if (const auto* product = std::get_if<MatrixProduct>(&step)) list.push_back(*product);
  return list;
}

CublasTree tree_of(const Problem& problem, const Tile& tile) {
  for (const Step& step : steps(problem, tile))
    if (const auto* launch = std::get_if<KernelLaunch>(&step))
      return {problem.shape.seq, launch->grid.y};
  return {};
}

/// How often each element of every sequence's [T, T] scores is written, leaves by the kernel.
std::vector<int> score_writes(const Problem& problem, const Tile& tile) {
  const std::int64_t seq = problem.shape.seq, batch = sequences(problem);
  const CublasTree tree = tree_of(problem, tile);
  std::vector<int> count(static_cast<std::size_t>(batch * seq * seq), 0);
  const auto write = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
    if (i < seq && j < seq) ++count[static_cast<std::size_t>((b * seq + i) * seq + j)];
  };
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < tree.padded; ++i)
      for (std::int64_t j = i / tree.leaf * tree.leaf; j <= i; ++j) write(b, i, j);
  for (const MatrixProduct& p : products(problem, tile)) {
    if (p.c.buffer != "scores") continue;
    for (std::int64_t n = 0; n < p.batch; ++n)
      for (std::int64_t x = 0; x < p.m; ++x)
        for (std::int64_t y = 0; y < p.n; ++y) {
          const std::int64_t at = p.c.offset + n * p.c.stride + x * p.c.ld + y;
          const std::int64_t b = at / tree.score_stride, within = at % tree.score_stride;
          write(b, within / tree.padded, within % tree.padded);
        }
  }
  return count;
}

TEST(ParallelCublas, ScoresCoverTheLowerTriangleExactlyOnce) {
  for (const std::int64_t seq : {1, 3, 31, 32, 33, 63, 64, 65, 100, 129, 200})
    for (const Tile& tile : all_tiles(cublas_variant().space)) {
      if (tile.at("tf32") != 0) continue;
      const Problem problem = gla(DType::bfloat16, {2, seq, 1, 8, 8});
      const std::vector<int> count = score_writes(problem, tile);
      std::int64_t wrong = 0;
      for (std::int64_t at = 0; at < 2 * seq * seq; ++at) {
        const bool lower = at % seq <= at / seq % seq;
        if (count[static_cast<std::size_t>(at)] != (lower ? 1 : 0)) ++wrong;
      }
      EXPECT_EQ(wrong, 0) << "T=" << seq << " " << describe(tile);
    }
}

// Rows of a right half with columns of the left half beside it, of the same sequence.
TEST(ParallelCublas, ScoreOperandsAreTheRowsAndColumnsThatTheyFill) {
  for (const std::int64_t seq : {33, 100, 257}) {
    const Problem problem = gla(DType::float32, {2, seq, 3, 24, 8});
    const Tile tile = default_tile(cublas_variant().space);
    const CublasTree tree = tree_of(problem, tile);
    const CublasLayout at{24, 8, 4, 4, tile.at("leaf")};
    const std::int64_t slot = sequences(problem) * tree.padded;
    std::int64_t level = 0;
    for (const MatrixProduct& p : products(problem, tile)) {
      if (p.c.buffer != "scores") continue;
      for (std::int64_t n = 0; n < p.batch; ++n) {
        const std::int64_t c = p.c.offset + n * p.c.stride;
        const std::int64_t b = c / tree.score_stride, within = c % tree.score_stride;
        const std::int64_t row = (p.a.offset + n * p.a.stride) / at.key_ld - level * slot;
        const std::int64_t column = (p.b.offset + n * p.b.stride) / at.key_ld - level * slot;
        EXPECT_EQ(row, b * tree.padded + within / tree.padded);
        EXPECT_EQ(column, b * tree.padded + within % tree.padded);
        EXPECT_EQ(row - column, p.m);
        EXPECT_EQ(column % (2 * p.m), b * tree.padded % (2 * p.m));
      }
      ++level;
    }
    EXPECT_EQ(tree.leaves, 1 << level);
  }
}

TEST(ParallelCublas, OutputBandsCoverEveryRowOnceAndReachTheirDiagonal) {
  for (const std::int64_t seq : {1, 64, 65, 1000, 4096})
    for (const Tile& tile : all_tiles(cublas_variant().space)) {
      if (tile.at("tf32") != 0) continue;
      Problem problem = gla(DType::bfloat16, {1, seq, 2, 16, 16});
      problem.final_state = false;
      const CublasLayout at{16, 16, 2, 2, tile.at("leaf")};
      std::int64_t next = 0;
      for (const MatrixProduct& p : products(problem, tile)) {
        if (p.c.buffer != "outputs") continue;
        EXPECT_EQ(p.c.offset, next * at.value_ld);
        next += p.m;
        EXPECT_EQ(p.k, next);
        EXPECT_EQ(p.n, 16);
        EXPECT_EQ(p.batch, 2);
      }
      EXPECT_EQ(next, seq) << describe(tile);
    }
}

// Each key of a band is read once, from where P and V hold it, and the first block alone
// overwrites.
TEST(ParallelCublas, Float32IsAddedUpOverBlocksOfKeys) {
  Problem problem = gla(DType::float32, {1, 2000, 2, 16, 24});
  problem.final_state = true;
  const Tile tile = default_tile(cublas_variant().space);
  const CublasTree tree = tree_of(problem, tile);
  const CublasLayout at{16, 24, 4, 4, tile.at("leaf")};
  std::map<std::string, std::int64_t> next;  // key, by what is written
  std::map<std::string, std::int64_t> band;  // where the last product wrote
  int blocks = 0;
  for (const MatrixProduct& p : products(problem, tile)) {
    const std::string& to = p.c.buffer;
    if (to != "outputs" && to != "final_state") continue;
    const bool first = !band.contains(to) || band[to] != p.c.offset;
    if (first) next[to] = 0;
    band[to] = p.c.offset;
    EXPECT_LE(p.k, 512);
    EXPECT_EQ(p.beta, first ? 0 : 1) << to;
    EXPECT_EQ(p.b.offset, next[to] * at.value_ld);
    if (to == "outputs") {
      EXPECT_EQ(p.a.offset, p.c.offset / at.value_ld * tree.padded + next[to]);
    }
    next[to] += p.k;
    blocks += !first;
  }
  EXPECT_EQ(next["outputs"], 2000);
  EXPECT_EQ(next["final_state"], 2000);
  EXPECT_GT(blocks, 4);
  problem.dtype = DType::bfloat16;
  for (const MatrixProduct& p : products(problem, tile))
    if (p.c.buffer == "final_state") {
      EXPECT_EQ(p.k, 2000);
    }
}

void expect_products_inside(const Problem& problem, const Tile& tile) {
  const Variant v = parallel_cublas(member_of(problem));
  std::map<std::string, std::int64_t> bytes;
  for (const Region& region : v.workspace(problem, tile))
    bytes[region.name] = static_cast<std::int64_t>(region.bytes);
  for (const TensorSpec& spec : find_operator(problem.op)->tensors(problem))
    bytes[spec.name] = spec.bytes();
  const auto inside = [&](const MatrixOperand& operand, std::int64_t rows, std::int64_t columns,
                          std::int64_t batch) {
    const std::int64_t last =
        operand.offset + (batch - 1) * operand.stride + (rows - 1) * operand.ld + columns;
    ASSERT_TRUE(bytes.contains(operand.buffer)) << operand.buffer;
    EXPECT_LE(last * static_cast<std::int64_t>(size_of(operand.dtype)), bytes[operand.buffer])
        << operand.buffer << " " << describe(problem);
    EXPECT_GE(operand.ld, columns);
  };
  for (const MatrixProduct& p : products(problem, tile)) {
    inside(p.a, p.a.transposed ? p.k : p.m, p.a.transposed ? p.m : p.k, p.batch);
    inside(p.b, p.b.transposed ? p.n : p.k, p.b.transposed ? p.k : p.n, p.batch);
    inside(p.c, p.m, p.n, p.batch);
    EXPECT_EQ(p.a.dtype, p.b.dtype);
    EXPECT_FALSE(p.c.transposed);
  }
}

TEST(ParallelCublas, ProductsStayInsideTheirBuffers) {
  for (const Layout layout : {Layout::seq_first, Layout::head_first})
    for (const std::int64_t seq : {1, 65, 1000})
      for (const Tile& tile : all_tiles(cublas_variant().space)) {
        Problem problem = gla(DType::float32, {2, seq, 3, 100, 72});
        problem.layout = layout;
        problem.initial_state = true;
        expect_products_inside(problem, tile);
      }
  for (const Member& member : members())
    for (const Problem& problem : problems_with_options(member.op)) {
      const Tile tile = default_tile(cublas_variant().space);
      if (!parallel_cublas(member).reject(problem, tile, h200()))
        expect_products_inside(problem, tile);
    }
}

// All but ragged sequences and bfloat16 states; with a plan that moves at least the floor.
TEST(ParallelCublas, ServesEveryMemberAndRefusesTwoOptionsByName) {
  for (const Member& member : members()) {
    const Variant v = parallel_cublas(member);
    const Operator* op = find_operator(member.op);
    ASSERT_NE(op, nullptr) << member.op;
    for (const Problem& problem : problems_with_options(member.op)) {
      const Tile tile = default_tile(v.space);
      const auto reason = v.reject(problem, tile, h200());
      const bool lacking = ragged(problem) || option(problem, "state_dtype") == "bfloat16";
      EXPECT_EQ(reason.has_value(), lacking) << describe(problem) << reason.value_or("");
      if (reason) continue;
      const Traffic traffic = v.traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
          << describe(problem);
      EXPECT_LE(v.workspace(problem, tile).size(), 6u);
    }
  }
}

// Without a tree: whole leaves of rows and columns, so that all that a band of O = P V reads has
// been written, and the kernel behind each product meets all leaves of its band.
TEST(ParallelCublas, BandsOfPlainScoresCoverWhatTheOutputsRead) {
  for (const std::int64_t seq : {1, 33, 64, 100, 1000})
    for (const Tile& tile : all_tiles(cublas_variant().space)) {
      if (tile.at("tf32") != 0) continue;
      const Problem problem = problem_of("simple_gla", DType::bfloat16, {2, seq, 3, 24, 16});
      std::int64_t rows = 0, columns = 0, outputs = 0;
      CublasTree tree{1, 1};
      for (const Step& step : steps(problem, tile)) {
        const auto* launch = std::get_if<KernelLaunch>(&step);
        if (launch != nullptr && launch->entry == "gla_form_operands") tree = {seq, launch->grid.y};
        if (launch != nullptr && launch->entry == "gla_decay_scores") {
          EXPECT_EQ(launch->grid.z * tree.leaf, columns);
          EXPECT_EQ((launch->grid.z - launch->grid.y) * tree.leaf, rows);
          rows = columns;
        }
        const auto* product = std::get_if<MatrixProduct>(&step);
        if (product == nullptr) continue;
        if (product->c.buffer == "scores") {
          EXPECT_EQ(product->c.offset, rows * tree.padded);
          columns = product->n;
          EXPECT_EQ(rows + product->m, columns);
        }
        if (product->c.buffer == "outputs") {
          EXPECT_LE(product->k, columns);
          outputs += product->m;
        }
      }
      EXPECT_EQ(outputs, seq) << describe(tile);
      EXPECT_LE(seq, rows);
      EXPECT_LE(rows, tree.padded);
    }
}

// Params has six places; their order is the kernels' order.
TEST(ParallelCublas, RegionsStandWhereTheKernelsLook) {
  Problem problem = gla(DType::bfloat16, {2, 100, 3, 64, 60});
  const Tile tile = default_tile(cublas_variant().space);
  for (const bool initial : {false, true}) {
    problem.initial_state = initial;
    const std::vector<Region> regions = cublas_variant().workspace(problem, tile);
    ASSERT_EQ(regions.size(), initial ? 6u : 5u);
    EXPECT_EQ(regions[1].name, "operands");
    EXPECT_EQ(regions[2].name, "scores");
    EXPECT_EQ(regions[3].name, "outputs");
    EXPECT_EQ(regions[initial ? 5 : 4].name, "values");
    EXPECT_EQ(regions[4].name, initial ? "from_start" : "values");
  }
}

TEST(ParallelCublas, TakesHeadFirstValuesWhereTheyLie) {
  Problem problem = gla(DType::bfloat16, {2, 100, 3, 64, 64});
  const Tile tile = default_tile(cublas_variant().space);
  const auto reads_v = [&] {
    bool found = false;
    for (const MatrixProduct& p : products(problem, tile)) found |= p.b.buffer == "v";
    return found;
  };
  EXPECT_FALSE(reads_v());
  problem.layout = Layout::head_first;
  EXPECT_TRUE(reads_v());
}

// A row of few scores has the rounding of one of them as its own error, up to u = 2^-8 where 4e-3
// is the bound: bfloat16 sequences of one leaf are multiplied in tf32, longer ones in bfloat16.
TEST(ParallelCublas, ScoresOfAFewTokensAreNotRoundedToBfloat16) {
  for (const Member& member : members())
    for (const Tile& tile : all_tiles(cublas_variant().space)) {
      if (tile.at("tf32") != 0) continue;
      const int leaf = tile.at("leaf");
      for (const std::int64_t seq : {1, 2, leaf, leaf + 1}) {
        Problem problem = problem_of(member.op, DType::bfloat16, {2, seq, 3, 32, 32});
        problem.layout = Layout::head_first;
        problem.initial_state = problem.final_state = true;
        const bool few = seq <= leaf;
        const Recipe recipe = std::get<0>(parallel_cublas(member).code)(problem, tile);
        for (const Constant& constant : recipe.constants)
          if (constant.name == "wide") {
            EXPECT_EQ(constant.value, few ? 1 : 0);
          }
        for (const MatrixProduct& p : products(problem, tile)) {
          if (p.a.buffer == "from_start") continue;  // float32 and tf32 whatever the length
          EXPECT_EQ(p.a.dtype, few ? DType::float32 : DType::bfloat16) << describe(problem);
          EXPECT_EQ(p.arithmetic, few ? Arithmetic::tf32 : Arithmetic::bfloat16);
          if (p.c.buffer == "outputs") {
            EXPECT_EQ(p.b.buffer, few ? "values" : "v");
          }
        }
        expect_products_inside(problem, tile);
      }
    }
  const Tile tile = default_tile(cublas_variant().space);
  for (const MatrixProduct& p : products(gla(DType::float16, {2, 2, 3, 32, 32}), tile))
    EXPECT_EQ(p.a.dtype, DType::float16);
}

TEST(ParallelCublas, RefusesScoresBeyondTheMemoryWithTheirSize) {
  const Problem problem = gla(DType::bfloat16, {8, 32768, 16, 128, 128});
  const auto reason =
      cublas_variant().reject(problem, default_tile(cublas_variant().space), h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("MiB of workspace"), std::string::npos) << *reason;
  Limits unknown = h200();
  unknown.memory_bytes = 0;
  EXPECT_EQ(cublas_variant().reject(problem, default_tile(cublas_variant().space), unknown),
            std::nullopt);
}

TEST(ParallelCublas, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(cublas_variant());
}

TEST(ParallelCublas, RejectsByNameAndNeverThrows) {
  expect_total_reject(cublas_variant());
}

TEST(ParallelCublas, AcceptedTilesFitTheLimitsAndMoveAtLeastTheFloor) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(cublas_variant().space)) {
      if (cublas_variant().reject(problem, tile, h200())) continue;
      ++accepted;
      for (const Step& step : steps(problem, tile))
        if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
          EXPECT_LE(launch->shared_bytes, h200().shared_per_block);
          EXPECT_LE(launch->block.x, 1024u);
          EXPECT_LE(launch->grid.y, 65535u);
        }
      const Traffic traffic = cublas_variant().traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes,
                find_operator("gla")->work(problem).floor_bytes)
          << describe(problem) << " " << describe(tile);
      EXPECT_GT(cublas_variant().flops(problem, tile), 0);
    }
  EXPECT_GT(accepted, 50);
}

TEST(ParallelCublas, DeclaresFloat32UnlessTf32IsAskedFor) {
  Tile tile = default_tile(cublas_variant().space);
  EXPECT_EQ(cublas_variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::float32);
  EXPECT_EQ(cublas_variant().arithmetic(gla(DType::bfloat16, {}), tile), Arithmetic::bfloat16);
  tile["tf32"] = 1;
  EXPECT_EQ(cublas_variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::tf32);
  EXPECT_TRUE(cublas_variant().reject(gla(DType::bfloat16, {1, 64, 1, 64, 64}), tile, h200()));
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
