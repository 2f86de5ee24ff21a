#pragma once
// Problems and checks that the tests of the CUDA backward variants share.

#include "kernels/linear_recurrence/backward/variant.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {

inline Problem backward(Problem problem) {
  problem.direction = Direction::backward;
  return problem;
}

/// The problems of the forward that have a backward, every member with each of its options.
inline std::vector<Problem> backward_problems(std::string_view op) {
  std::vector<Problem> problems;
  for (const Problem& problem : problems_with_options(op))
    if (!find_operator(op)->refuse(backward(problem))) problems.push_back(backward(problem));
  return problems;
}

inline double region_bytes(const std::vector<Region>& regions, std::string_view name) {
  for (const Region& region : regions)
    if (region.name == name) return static_cast<double>(region.bytes);
  return 0;
}

/// Launches within the limits, at least the floor's bytes and operations, and no workspace region
/// too many for the parameters.
inline void expect_backward_candidate(const Variant& variant, const Problem& problem,
                                      const Tile& tile) {
  const Work work = find_operator(problem.op)->work(problem);
  const Traffic traffic = variant.traffic(problem, tile);
  EXPECT_GE(traffic.read_bytes + traffic.write_bytes, work.floor_bytes) << describe(problem);
  EXPECT_GE(variant.flops(problem, tile), work.flops) << describe(problem);
  const std::vector<Region> regions = variant.workspace(problem, tile);
  EXPECT_LE(regions.size(), std::size(LinearRecurrenceParams{}.work)) << describe(problem);
  for (const Region& region : regions) EXPECT_GT(region.bytes, 0u) << region.name;
  for (const Step& step : std::get<0>(variant.code)(problem, tile).steps) {
    const auto& launch = std::get<KernelLaunch>(step);
    EXPECT_LE(launch.shared_bytes, h200().shared_per_block) << describe(tile);
    EXPECT_LE(launch.block.x, 1024u) << describe(tile);
    EXPECT_GE(launch.grid.x, 1u) << launch.entry;
  }
}

inline void expect_backward_of_every_member(Variant (*make)(const Member&)) {
  for (const Member& member : members()) {
    const Variant variant = make(member);
    EXPECT_EQ(variant.direction, Direction::backward);
    const std::vector<Problem> problems = backward_problems(member.op);
    ASSERT_GT(problems.size(), 4u);
    for (const Problem& problem : problems) {
      const Tile tile = accepted_tile(variant, problem);
      ASSERT_FALSE(tile.empty()) << describe(problem);
      expect_backward_candidate(variant, problem, tile);
    }
  }
}

inline void expect_backward_tile_for_all_sizes(const Variant& variant) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const std::int64_t k : {1, 15, 16, 33, 100, 256, 257, 511, 512})
      for (const std::int64_t v : {1, 16, 17, 100, 512}) {
        const Problem problem = backward(gla(dtype, {1, 100, 1, k, v}));
        const Tile tile = accepted_tile(variant, problem);
        EXPECT_FALSE(tile.empty()) << describe(problem);
        if (!tile.empty()) expect_backward_candidate(variant, problem, tile);
      }
}

/// Problems, tiles and limits far outside of what a variant takes get a reason.
inline void expect_backward_reject(const Variant& variant) {
  const Problem problem = backward(gla(DType::bfloat16, {1, 64, 1, 64, 64}));
  const Tile usual = default_tile(variant.space);
  EXPECT_EQ(variant.reject(problem, usual, h200()), std::nullopt);
  const auto reason = [&](const Problem& p, const Tile& tile, const Limits& limits) {
    std::optional<std::string> text;
    EXPECT_NO_THROW(text = variant.reject(p, tile, limits));
    EXPECT_NE(text.value_or(""), "") << describe(p) << " " << describe(tile);
  };
  reason(gla(DType::bfloat16, {1, 64, 1, 64, 64}), usual, h200());
  reason(problem, {}, h200());
  for (const TileAxis& axis : variant.space)
    for (const int value : {0, -1, 7, 1 << 30}) {
      Tile tile = usual;
      tile[axis.name] = value;
      reason(problem, tile, h200());
    }
  for (const std::int64_t dim : {std::int64_t{0}, std::int64_t{513}, std::int64_t{1} << 40}) {
    reason(backward(gla(DType::bfloat16, {1, 64, 1, dim, 64})), usual, h200());
    reason(backward(gla(DType::bfloat16, {1, 64, 1, 64, dim})), usual, h200());
  }
  const std::int64_t many = std::int64_t{1} << 20;
  reason(backward(gla(DType::bfloat16, {many, 64, many, 64, 64})), usual, h200());
  reason(problem, usual, {75, 65536, 0, 40});
  reason(problem, usual, {90, 1024, 0, 132});
  reason(problem, usual, {90, 232448, 1 << 12, 132});
}

}  // namespace gla_bench::linear_recurrence
