#pragma once
// Problems and checks that the tests of the family's forward CUDA variants share. No GPU: recipes
// are data.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"
#include "kernels/softmax_attention/family.hpp"

namespace gla_bench::softmax_attention {

/// What an H200 allows.
inline Limits forward_h200() {
  return {90, 232448, std::size_t{140} << 30, 132};
}

inline Problem forward_problem(std::string_view op, DType dtype, const Shape& shape) {
  Problem problem;
  problem.op = op;
  problem.dtype = dtype;
  problem.shape = shape;
  return problem;
}

inline Problem softmax_problem(DType dtype, std::int64_t rows, std::int64_t columns) {
  Shape shape;
  shape.batch = rows;
  shape.columns = columns;
  return forward_problem("softmax", dtype, shape);
}

/// Rows of all kinds; attention causal, full and decaying, aligned and ragged, with grouped heads,
/// more queries than keys and fewer.
inline std::vector<Problem> forward_problems(std::string_view op) {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    if (op == "softmax") {
      for (const std::int64_t columns : {1, 33, 512, 1000, 4096, 131071, 131072})
        problems.push_back(softmax_problem(dtype, 37, columns));
      continue;
    }
    for (const Shape& shape :
         {Shape{1, 1, 1, 1, 1}, Shape{2, 1000, 3, 100, 72}, Shape{4, 4096, 16, 128, 128},
          Shape{1, 200, 4, 64, 64, 333, 2}, Shape{1, 333, 6, 32, 48, 200, 1},
          Shape{2, 130, 2, 256, 256}, Shape{1, 1, 32, 128, 128, 65536, 8}}) {
      Problem problem = forward_problem(op, dtype, shape);
      problems.push_back(problem);
      problem.layout = Layout::head_first;
      problem.options["lse"] = "true";
      if (op == "attention") problem.options["causal"] = "false";
      if (op == "decay_attention") problem.options["decay"] = "constant";
      problems.push_back(problem);
    }
  }
  return problems;
}

inline Tile forward_default(const Variant& variant) {
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  return tile;
}

/// Of these problems those whose rows bulk copies take: 16-bit, and rows of a multiple of 16 bytes.
inline std::vector<Problem> bulk_copied(std::vector<Problem> problems) {
  std::erase_if(problems, [](const Problem& problem) {
    const Shape& s = problem.shape;
    return problem.dtype == DType::float32 || s.key_dim % 8 != 0 || s.value_dim % 8 != 0;
  });
  return problems;
}

/// Calls check(problem, tile) for each accepted pair; every problem must have one.
template <class Check>
void for_each_forward(const Variant& variant, const std::vector<Problem>& problems, Check check) {
  for (const Problem& problem : problems) {
    int accepted = 0;
    for (const Tile& tile : all_tiles(variant.space)) {
      if (variant.reject(problem, tile, forward_h200())) continue;
      ++accepted;
      check(problem, tile);
    }
    EXPECT_GT(accepted, 0) << variant.name << " on " << describe(problem);
  }
}
template <class Check>
void for_each_forward(const Variant& variant, Check check) {
  for_each_forward(variant, forward_problems(variant.op), check);
}

inline void expect_reason(const Variant& variant, const Problem& problem, const Tile& tile,
                          const Limits& limits, std::string_view part) {
  std::optional<std::string> text;
  EXPECT_NO_THROW(text = variant.reject(problem, tile, limits));
  ASSERT_TRUE(text) << variant.name << " on " << describe(problem) << " " << describe(tile);
  EXPECT_NE(text->find(part), std::string::npos) << *text;
}

/// Tiles outside the space, problems of others, architectures without the instructions.
inline void expect_forward_reject(const Variant& variant, const Problem& problem) {
  const Tile usual = forward_default(variant);
  expect_reason(variant, problem, {}, forward_h200(), "is not one of");
  for (const TileAxis& axis : variant.space)
    for (const int value : {0, -1, 7, 1 << 30}) {
      if (std::count(axis.values.begin(), axis.values.end(), value) != 0) continue;
      Tile tile = usual;
      tile[axis.name] = value;
      expect_reason(variant, problem, tile, forward_h200(), axis.name);
    }
  Problem other = problem;
  other.direction = Direction::backward;
  expect_reason(variant, other, usual, forward_h200(), "forward only");
  other = problem;
  other.op = "gla";
  expect_reason(variant, other, usual, forward_h200(), "is a variant of");
  other = problem;
  other.shape.batch = 0;
  expect_reason(variant, other, usual, forward_h200(), "at least 1");
  expect_reason(variant, problem, usual, {75, 65536, 0, 40}, "sm_80");
}

inline void expect_forward_launches(const Variant& variant, const std::vector<Problem>& problems) {
  for_each_forward(variant, problems, [&](const Problem& problem, const Tile& tile) {
    std::set<std::string> regions;
    for (const Region& region : variant.workspace(problem, tile)) {
      EXPECT_GT(region.bytes, 0u) << region.name;
      regions.insert(region.name);
    }
    // A region would hide a tensor of its name from bind().
    for (const TensorSpec& spec : find_operator(variant.op)->tensors(problem))
      EXPECT_EQ(regions.count(spec.name), 0u) << spec.name;
    const Recipe recipe = std::get<0>(variant.code)(problem, tile);
    // Parameters have a place for every region that their kernels name.
    const Address nowhere = [](std::string_view) { return nullptr; };
    EXPECT_NO_THROW(variant.bind(problem, tile, nowhere)) << describe(problem);
    for (const Module& module : recipe.imports)
      EXPECT_NO_THROW(module.bind(nowhere)) << module.source << " " << describe(problem);
    for (const Step& step : recipe.steps) {
      const auto* launch = std::get_if<KernelLaunch>(&step);
      if (launch == nullptr) continue;
      EXPECT_LE(launch->shared_bytes, forward_h200().shared_per_block) << describe(tile);
      EXPECT_GE(launch->block.x, 32u);
      EXPECT_LE(launch->block.x, 1024u);
      EXPECT_GE(launch->grid.x, 1u) << launch->entry;
    }
  });
}

inline void expect_forward_work(const Variant& variant, const std::vector<Problem>& problems) {
  const Operator* op = find_operator(variant.op);
  ASSERT_NE(op, nullptr);
  for_each_forward(variant, problems, [&](const Problem& problem, const Tile& tile) {
    const Traffic traffic = variant.traffic(problem, tile);
    EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
        << variant.name << " on " << describe(problem) << " " << describe(tile);
    EXPECT_GE(variant.flops(problem, tile), op->work(problem).flops)
        << variant.name << " on " << describe(problem) << " " << describe(tile);
  });
}

inline void expect_forward_launches(const Variant& variant) {
  expect_forward_launches(variant, forward_problems(variant.op));
}
inline void expect_forward_work(const Variant& variant) {
  expect_forward_work(variant, forward_problems(variant.op));
}

}  // namespace gla_bench::softmax_attention
