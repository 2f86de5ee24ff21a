#pragma once
// Problems and checks that the tests of the backward variants of attention share. No GPU: recipes
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
inline Limits backward_h200() {
  return {90, 232448, std::size_t{140} << 30, 132};
}

inline Problem backward_problem(std::string_view op, DType dtype, const Shape& shape) {
  Problem problem;
  problem.op = op;
  problem.direction = Direction::backward;
  problem.dtype = dtype;
  problem.shape = shape;
  return problem;
}

/// Causal, full, decaying; aligned and ragged; grouped heads; more queries than keys and fewer.
inline std::vector<Problem> backward_problems(std::string_view op) {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const Shape& shape : {Shape{1, 1, 1, 1, 1}, Shape{2, 1000, 3, 100, 72},
                               Shape{4, 4096, 16, 128, 128}, Shape{1, 200, 4, 64, 64, 333, 2},
                               Shape{1, 333, 6, 32, 48, 200, 1}, Shape{2, 130, 2, 256, 256}}) {
      Problem problem = backward_problem(op, dtype, shape);
      problems.push_back(problem);
      problem.layout = Layout::head_first;
      if (op == "attention") problem.options["causal"] = "false";
      if (op == "decay_attention") problem.options["decay"] = "constant";
      problems.push_back(problem);
    }
  return problems;
}

inline Tile backward_default(const Variant& variant) {
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  return tile;
}

/// Calls check(problem, tile) for each accepted pair; every problem must have one.
template <class Check>
void for_each_accepted(const Variant& variant, const std::vector<Problem>& problems, Check check) {
  for (const Problem& problem : problems) {
    int accepted = 0;
    for (const Tile& tile : all_tiles(variant.space)) {
      if (variant.reject(problem, tile, backward_h200())) continue;
      ++accepted;
      check(problem, tile);
    }
    EXPECT_GT(accepted, 0) << variant.name << " on " << describe(problem);
  }
}
template <class Check>
void for_each_accepted(const Variant& variant, Check check) {
  for_each_accepted(variant, backward_problems(variant.op), check);
}

inline void expect_backward_reject(const Variant& variant) {
  const auto reason = [&](const Problem& problem, const Tile& tile, const Limits& limits,
                          std::string_view part) {
    std::optional<std::string> text;
    EXPECT_NO_THROW(text = variant.reject(problem, tile, limits));
    ASSERT_TRUE(text) << describe(problem) << " " << describe(tile);
    EXPECT_NE(text->find(part), std::string::npos) << *text;
  };
  const Tile usual = backward_default(variant);
  const Problem problem = backward_problem(variant.op, DType::bfloat16, {1, 64, 1, 64, 64});
  EXPECT_EQ(variant.reject(problem, usual, backward_h200()), std::nullopt);
  // A missing choice counts as 0, which a switch has.
  if (std::count(variant.space[0].values.begin(), variant.space[0].values.end(), 0) == 0)
    reason(problem, {}, backward_h200(), "is not one of");
  for (const TileAxis& axis : variant.space)
    for (const int value : {0, -1, 7, 1 << 30}) {
      if (std::count(axis.values.begin(), axis.values.end(), value) != 0) continue;
      Tile tile = usual;
      tile[axis.name] = value;
      reason(problem, tile, backward_h200(), axis.name);
    }
  Problem other = problem;
  other.direction = Direction::forward;
  reason(other, usual, backward_h200(), "backward only");
  other = problem;
  other.shape.value_dim = 257;
  reason(other, usual, backward_h200(), "value_dim 257");
  other = problem;
  other.shape.heads = 6;
  other.shape.key_heads = 4;
  reason(other, usual, backward_h200(), "key_heads");
  other = problem;
  other.shape.seq = 0;
  reason(other, usual, backward_h200(), "at least 1");
  other = problem;
  other.shape.batch = other.shape.heads = std::int64_t{1} << 20;
  reason(other, usual, backward_h200(), "blocks");
  reason(problem, usual, {75, 65536, 0, 40}, "sm_80");
  Limits little = backward_h200();
  little.memory_bytes = 256;
  reason(problem, usual, little, "workspace");
}

inline void expect_backward_launches(const Variant& variant, const std::vector<Problem>& problems) {
  for_each_accepted(variant, problems, [&](const Problem& problem, const Tile& tile) {
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
      if (const auto* zero = std::get_if<Zero>(&step)) {
        EXPECT_EQ(regions.count(zero->buffer), 1u) << zero->buffer;
      }
      const auto* launch = std::get_if<KernelLaunch>(&step);
      if (launch == nullptr) continue;
      EXPECT_LE(launch->shared_bytes, backward_h200().shared_per_block) << describe(tile);
      EXPECT_LE(launch->block.x, 1024u);
      EXPECT_GE(launch->grid.x, 1u) << launch->entry;
    }
  });
}

inline void expect_backward_work(const Variant& variant, const std::vector<Problem>& problems) {
  const Operator* op = find_operator(variant.op);
  ASSERT_NE(op, nullptr);
  for_each_accepted(variant, problems, [&](const Problem& problem, const Tile& tile) {
    const Traffic traffic = variant.traffic(problem, tile);
    EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
        << describe(problem) << " " << describe(tile);
    EXPECT_GE(variant.flops(problem, tile), op->work(problem).flops)
        << describe(problem) << " " << describe(tile);
  });
}

inline void expect_backward_launches(const Variant& variant) {
  expect_backward_launches(variant, backward_problems(variant.op));
}
inline void expect_backward_work(const Variant& variant) {
  expect_backward_work(variant, backward_problems(variant.op));
}

}  // namespace gla_bench::softmax_attention
