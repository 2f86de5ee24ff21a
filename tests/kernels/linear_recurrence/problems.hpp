#pragma once
// Problems and checks that the tests of this family's CUDA variants share. No GPU: recipes are
// data.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

/// What an H200 allows.
inline Limits h200() {
  return {90, 232448, std::size_t{140} << 30, 132};
}

inline const Member& gla_member() {
  Problem problem;
  problem.op = "gla";
  return member_of(problem);
}

inline Problem problem_of(std::string_view op, DType dtype, const Shape& shape) {
  Problem problem;
  problem.op = op;
  problem.dtype = dtype;
  problem.shape = shape;
  return problem;
}

inline Problem gla(DType dtype, const Shape& shape) {
  return problem_of("gla", dtype, shape);
}

/// One problem of each member without and with each value of each of its options, ragged ones too.
inline std::vector<Problem> problems_with_options(std::string_view op) {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    problems.push_back(problem_of(op, dtype, {2, 100, 3, 64, 72}));
    problems.back().initial_state = true;
    const Problem plain = problems.back();
    for (const OptionAxis& axis : find_operator(op)->options)
      for (const std::string& value : axis.values) {
        if (value == axis.values.front() || axis.name == "lengths") continue;
        if (axis.name == "states_every") continue;  // expect_states_between
        problems.push_back(plain);
        problems.back().options[axis.name] = value;
        if (find_operator(op)->refuse(problems.back())) problems.pop_back();
      }
    problems.push_back(problem_of(op, dtype, {1, 100, 3, 64, 72}));
    problems.back().shape.sequences = 5;
  }
  return problems;
}

/// Aligned and ragged, narrow and wide, one token and many.
inline std::vector<Problem> assorted_problems() {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const Shape& shape :
         {Shape{1, 1, 1, 1, 1}, Shape{2, 1000, 3, 100, 72}, Shape{1, 65, 2, 37, 19},
          Shape{8, 4096, 16, 128, 128}, Shape{2, 63, 3, 64, 64}, Shape{1, 17, 1, 512, 512},
          Shape{32, 2048, 4, 256, 256}, Shape{1, 33, 1, 16, 511}, Shape{3, 128, 1, 511, 16}})
      problems.push_back(gla(dtype, shape));
  problems[1].initial_state = true;
  problems[2].final_state = false;
  return problems;
}

inline Tile default_tile(const TileSpace& space) {
  Tile tile;
  for (const TileAxis& axis : space) tile[axis.name] = axis.values.front();
  return tile;
}

inline void expect_a_tile_for_all_sizes(const Variant& variant) {
  const std::vector<Tile> tiles = all_tiles(variant.space);
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const std::int64_t k : {1, 15, 16, 33, 100, 256, 257, 511, 512})
      for (const std::int64_t v : {1, 16, 17, 100, 512}) {
        const Problem problem = gla(dtype, {1, 100, 1, k, v});
        bool found = false;
        for (const Tile& tile : tiles) found |= !variant.reject(problem, tile, h200());
        EXPECT_TRUE(found) << describe(problem);
      }
}

/// Tiles and problems far outside the space get a reason.
inline void expect_total_reject(const Variant& variant) {
  const auto reason = [&](const Problem& problem, const Tile& tile, const Limits& limits) {
    std::optional<std::string> text;
    EXPECT_NO_THROW(text = variant.reject(problem, tile, limits));
    EXPECT_TRUE(text) << describe(problem) << " " << describe(tile);
    EXPECT_NE(text.value_or(""), "");
  };
  const Tile usual = default_tile(variant.space);
  const Problem problem = gla(DType::bfloat16, {1, 64, 1, 64, 64});
  reason(problem, {}, h200());
  for (const TileAxis& axis : variant.space)
    for (const int value : {0, -1, 7, 1 << 30}) {
      if (std::count(axis.values.begin(), axis.values.end(), value) != 0) continue;
      Tile tile = usual;
      tile[axis.name] = value;
      reason(problem, tile, h200());
    }
  for (const std::int64_t dim : {std::int64_t{0}, std::int64_t{513}, std::int64_t{1} << 40}) {
    reason(gla(DType::bfloat16, {1, 64, 1, dim, 64}), usual, h200());
    reason(gla(DType::bfloat16, {1, 64, 1, 64, dim}), usual, h200());
  }
  reason(gla(DType::bfloat16, {1, 0, 1, 64, 64}), usual, h200());
  reason(gla(DType::bfloat16, {std::int64_t{1} << 20, 64, std::int64_t{1} << 20, 64, 64}), usual,
         h200());
  reason(problem, usual, {75, 65536, 0, 40});
  reason(problem, usual, {90, 1024, 0, 132});
}

/// The first tile that the variant accepts, or an empty one.
inline Tile accepted_tile(const Variant& variant, const Problem& problem) {
  for (const Tile& tile : all_tiles(variant.space))
    if (!variant.reject(problem, tile, h200())) return tile;
  return {};
}

/// A variant that writes the states between (states_every), where they are at the ends of pieces of
/// `axis` tokens: kernels know of them, their bytes count, and those elsewhere are refused.
inline void expect_states_between(Variant (*make)(const Member&), const char* axis) {
  for (const Member& member : members()) {
    const Variant v = make(member);
    const Operator& op = *find_operator(member.op);
    Problem problem = problem_of(member.op, DType::bfloat16, {2, 600, 3, 64, 72});
    const Tile tile = accepted_tile(v, problem);
    const Traffic without = v.traffic(problem, tile);
    const double floor = op.work(problem).floor_bytes;
    problem.options["states_every"] = "256";
    ASSERT_FALSE(v.reject(problem, tile, h200())) << describe(problem);
    EXPECT_EQ(v.traffic(problem, tile).write_bytes - without.write_bytes,
              op.work(problem).floor_bytes - floor);
    const auto constants = std::get<0>(v.code)(problem, tile).constants;
    EXPECT_EQ(std::count(constants.begin(), constants.end(), Constant{"trait", "states", 1}), 1);
    Tile wide = tile;
    for (const TileAxis& one : v.space)
      if (one.name == axis) wide[axis] = *std::max_element(one.values.begin(), one.values.end());
    const std::int64_t half = wide.at(axis) / 2;
    problem.options["states_every"] = std::to_string(half);
    EXPECT_NE(v.reject(problem, wide, h200()).value_or("").find("is not a multiple of"),
              std::string::npos)
        << describe(problem);
    problem.options["states_every"] = "1024";  // no sequence is as long
    EXPECT_FALSE(v.reject(problem, tile, h200()));
  }
}

/// A variant that has no such states says so.
inline void expect_no_states_between(Variant (*make)(const Member&), Problem problem) {
  const Variant v = make(member_of(problem));
  const Tile tile = accepted_tile(v, problem);
  ASSERT_FALSE(v.reject(problem, tile, h200())) << describe(problem);
  problem.options["states_every"] = "16";
  EXPECT_NE(v.reject(problem, tile, h200()).value_or("").find("states_every"), std::string::npos);
}

/// Every member with every option: a tile, launches within the limits, at least the floor's bytes
/// and operations.
inline void expect_every_member_and_option(Variant (*make)(const Member&)) {
  for (const Member& member : members()) {
    const Variant v = make(member);
    const Operator* op = find_operator(member.op);
    ASSERT_NE(op, nullptr) << member.op;
    for (const Problem& problem : problems_with_options(member.op)) {
      const Tile tile = accepted_tile(v, problem);
      ASSERT_FALSE(tile.empty()) << describe(problem);
      const Traffic traffic = v.traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
          << describe(problem);
      EXPECT_GE(v.flops(problem, tile), op->work(problem).flops) << describe(problem);
      for (const Step& step : std::get<0>(v.code)(problem, tile).steps) {
        const auto& launch = std::get<KernelLaunch>(step);
        EXPECT_LE(launch.shared_bytes, h200().shared_per_block) << describe(problem);
        EXPECT_LE(launch.block.x, 1024u);
      }
    }
  }
}

inline void expect_launches_within(const Variant& variant, const Limits& limits) {
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(variant.space)) {
      if (variant.reject(problem, tile, limits)) continue;
      EXPECT_LE(variant.workspace(problem, tile).size(), std::size(LinearRecurrenceParams{}.work))
          << describe(tile);
      for (const Step& step : std::get<0>(variant.code)(problem, tile).steps) {
        const auto& launch = std::get<KernelLaunch>(step);
        EXPECT_LE(launch.shared_bytes, limits.shared_per_block) << describe(tile);
        EXPECT_LE(launch.block.x * launch.block.y * launch.block.z, 1024u) << describe(tile);
        EXPECT_GE(launch.grid.x, 1u);
      }
    }
}

inline void expect_traffic_above_floor(const Variant& variant) {
  const Operator* op = find_operator("gla");
  ASSERT_NE(op, nullptr);
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(variant.space)) {
      if (variant.reject(problem, tile, h200())) continue;
      const Traffic traffic = variant.traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
          << describe(problem) << " " << describe(tile);
      EXPECT_GE(variant.flops(problem, tile), op->work(problem).flops);
    }
}

}  // namespace gla_bench::linear_recurrence
