#include "kernels/linear_recurrence/training/pair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "kernels/linear_recurrence/backward/params.h"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "kernels/linear_recurrence/sm90/chunk_sm90.hpp"
#include "kernels/linear_recurrence/training/halves.hpp"
#include "kernels/linear_recurrence/training/variants.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using Make = Variant (*)(const Member&);
constexpr Make chunks[] = {training_chunk_materialized, training_chunk_fused};
constexpr Make all[] = {training_recurrent, training_chunk_materialized, training_chunk_fused};

Problem training(const Problem& problem) {
  return in_direction(problem, Direction::training);
}

Problem gla_training(const Shape& shape, DType dtype = DType::bfloat16) {
  return training(gla(dtype, shape));
}

const Region* find_region(const std::vector<Region>& regions, std::string_view name) {
  for (const Region& region : regions)
    if (region.name == name) return &region;
  return nullptr;
}

std::vector<std::string> axes_of(const Variant& variant) {
  std::vector<std::string> names;
  for (const TileAxis& axis : variant.space) names.push_back(axis.name);
  return names;
}

std::vector<KernelLaunch> launches(const Variant& variant, const Problem& problem,
                                   const Tile& tile) {
  std::vector<KernelLaunch> list;
  for (const Step& step : std::get<0>(variant.code)(problem, tile).steps)
    list.push_back(std::get<KernelLaunch>(step));
  return list;
}

/// An address for each name that is asked for, and the names.
struct Addresses {
  std::map<std::string, std::vector<std::byte>, std::less<>> bytes;

  Address address() {
    return [this](std::string_view name) -> void* {
      return bytes.try_emplace(std::string(name), 1).first->second.data();
    };
  }
};

TEST(TrainingPair, TakesEveryMemberAndOption) {
  for (const Member& member : members())
    for (const Make make : all) {
      const Variant variant = make(member);
      EXPECT_EQ(variant.direction, Direction::training);
      int taken = 0;
      for (const Problem& forward : problems_with_options(member.op)) {
        const Problem problem = training(forward);
        const Operator& op = *find_operator(member.op);
        if (op.refuse(problem)) continue;
        const Tile tile = accepted_tile(variant, problem);
        const bool normalized = flag(problem, "normalize");
        ASSERT_EQ(tile.empty(), make != training_recurrent && normalized)
            << variant.name << " " << describe(problem);
        if (tile.empty()) continue;
        ++taken;
        const Work work = op.work(problem);
        const Traffic traffic = variant.traffic(problem, tile);
        EXPECT_GE(traffic.read_bytes + traffic.write_bytes, work.floor_bytes) << describe(problem);
        EXPECT_GE(variant.flops(problem, tile), work.flops) << describe(problem);
        for (const KernelLaunch& launch : launches(variant, problem, tile)) {
          EXPECT_LE(launch.shared_bytes, h200().shared_per_block) << launch.entry;
          EXPECT_LE(launch.block.x, 1024u) << launch.entry;
          EXPECT_GE(launch.grid.x, 1u) << launch.entry;
        }
      }
      EXPECT_GT(taken, 4) << member.op << " " << variant.name;
    }
}

TEST(TrainingPair, TrafficIsThatOfItsHalves) {
  const Problem problem = gla_training({2, 1000, 3, 128, 128});
  const Variant fused = training_chunk_fused(gla_member());
  const Tile tile = accepted_tile(fused, problem);
  const std::vector<StageTraffic> stages = fused.stages(problem, tile);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].name, "forward");
  EXPECT_EQ(stages[1].name, "backward");
  const Traffic both = fused.traffic(problem, tile);
  EXPECT_EQ(both.read_bytes, stages[0].traffic.read_bytes + stages[1].traffic.read_bytes);
  EXPECT_EQ(both.write_bytes, stages[0].traffic.write_bytes + stages[1].traffic.write_bytes);
  // The pair spares the backward's own pass for the states: k, gates and v, and to write them.
  Tile backward_tile = default_tile(backward_chunk_fused(gla_member()).space);
  const Problem backward = in_direction(problem, Direction::backward);
  const Traffic own = backward_chunk_fused(gla_member()).traffic(backward, backward_tile);
  const Traffic given =
      backward_chunk_fused_of_states(gla_member()).traffic(backward, backward_tile);
  EXPECT_EQ(own.read_bytes - given.read_bytes,
            key_bytes(problem) + gate_bytes(problem) + value_bytes(problem));
  EXPECT_EQ(own.write_bytes - given.write_bytes, 2.0 * 3 * 16 * 128 * 128 * 4);
}

TEST(TrainingPair, HalvesAgreeOnTheStatesThatOneLeavesToTheOther) {
  for (const Make make : chunks)
    for (std::int64_t sequences : {0, 5}) {
      Problem problem = gla_training({sequences > 0 ? 1 : 2, 130, 3, 100, 72});
      problem.shape.sequences = sequences;
      const Variant variant = make(gla_member());
      int tiles = 0;
      for (const Tile& tile : all_tiles(variant.space)) {
        if (variant.reject(problem, tile, h200())) continue;
        ++tiles;
        const std::int64_t chunk = tile.at("chunk");
        const std::int64_t slots =
            sequences > 0 ? 3 * (130 / chunk + 5) : 2 * 3 * ceil_div(130, chunk);
        const std::vector<Region> regions = variant.workspace(problem, tile);
        const Region* states = find_region(regions, "chunk_states");
        ASSERT_NE(states, nullptr);
        EXPECT_TRUE(states->kept);
        EXPECT_EQ(states->bytes, static_cast<std::size_t>(slots) * 100 * 72 * 4) << describe(tile);
        EXPECT_EQ(kept_bytes({&variant, problem, tile}), states->bytes);
        EXPECT_GE(workspace_bytes({&variant, problem, tile}), states->bytes);
        for (const Variant& half :
             {make == training_chunk_fused ? chunk_fused_with_states(gla_member())
                                           : chunk_materialized(gla_member()),
              make == training_chunk_fused ? backward_chunk_fused_of_states(gla_member())
                                           : backward_chunk_materialized_of_states(gla_member())})
          EXPECT_EQ(find_region(half.workspace(problem, tile), "chunk_states")->bytes,
                    states->bytes);
      }
      EXPECT_GT(tiles, 20);
    }
}

TEST(TrainingPair, KeepsNothingWhereTheBackwardFormsItsStates) {
  const Problem problem = gla_training({2, 130, 3, 100, 72});
  const Variant variant = training_recurrent(gla_member());
  const Tile tile = accepted_tile(variant, problem);
  EXPECT_EQ(kept_bytes({&variant, problem, tile}), 0u);
  EXPECT_GT(workspace_bytes({&variant, problem, tile}), 0u);
}

TEST(TrainingPair, SharesTheAxesOfBothHalves) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(axes_of(training_chunk_fused(gla_member())),
            (Names{"chunk", "step", "block_v", "warp_v", "warps_k", "stages", "residency", "terms",
                   "block_k", "panel"}));
  for (const TileAxis& axis : training_chunk_materialized(gla_member()).space)
    if (axis.name == "chunk") {
      EXPECT_EQ(axis.values, (std::vector<int>{64}));
    }
  for (const TileAxis& axis : training_chunk_fused(gla_member()).space)
    if (axis.name == "chunk") {
      EXPECT_EQ(axis.values, (std::vector<int>{64, 32}));
    }
}

TEST(TrainingPair, LaunchesTheForwardAndThenTheBackwardWithoutItsStates) {
  using Launches = std::vector<std::pair<std::string, int>>;
  const Problem problem = gla_training({2, 100, 3, 64, 20});
  const auto of = [&](Make make) {
    const Variant variant = make(gla_member());
    Launches list;
    bool backward = false;
    for (const KernelLaunch& launch : launches(variant, problem, accepted_tile(variant, problem))) {
      list.emplace_back(launch.entry, launch.module);
      backward |= launch.module == 0;
      EXPECT_EQ(launch.stage, backward ? "backward" : "forward") << launch.entry;
    }
    return list;
  };
  EXPECT_EQ(of(training_chunk_fused),
            (Launches{{"chunk_fused", 1}, {"chunk_gradients_fused", 0}, {"gradient_values", 0}}));
  EXPECT_EQ(of(training_chunk_materialized), (Launches{{"chunk_states", 1},
                                                       {"chunk_scan", 1},
                                                       {"chunk_outputs", 1},
                                                       {"chunk_gradient_changes", 0},
                                                       {"chunk_scan_changes", 0},
                                                       {"chunk_gradients", 0},
                                                       {"gradient_values", 0}}));
}

TEST(TrainingPair, TheForwardKeepsAStateForEveryChunkOfTheBackward) {
  const Problem problem = gla_training({2, 200, 3, 64, 64});
  const Variant variant = training_chunk_fused(gla_member());
  for (const int chunk : {32, 64})
    for (const int step : {16, 32, 64}) {
      Tile tile = default_tile(variant.space);
      tile["chunk"] = chunk;
      tile["step"] = step;
      if (step > chunk) {
        EXPECT_NE(variant.reject(problem, tile, h200()), std::nullopt);
        continue;
      }
      const Recipe recipe = std::get<0>(variant.code)(problem, tile);
      ASSERT_EQ(recipe.imports.size(), 1u);
      const auto constant = [&](const std::vector<Constant>& list, std::string_view name) {
        for (const Constant& one : list)
          if (one.name == name) return one.value;
        return -1;
      };
      EXPECT_EQ(constant(recipe.imports[0].constants, "chunk"), step);
      EXPECT_EQ(constant(recipe.imports[0].constants, "kept_chunks"), chunk / step);
      EXPECT_EQ(constant(recipe.constants, "chunk"), chunk);
    }
}

TEST(TrainingPair, TheBackwardIsGivenNoOutputs) {
  Problem problem = gla_training({2, 100, 3, 64, 64});
  problem.initial_state = true;
  const Variant variant = training_chunk_fused(gla_member());
  const Tile tile = accepted_tile(variant, problem);
  Addresses given;
  GradientParams backward;
  const ParamBytes bytes = variant.bind(problem, tile, given.address());
  ASSERT_EQ(bytes.size(), sizeof backward);
  std::memcpy(&backward, bytes.data(), sizeof backward);
  LinearRecurrenceParams forward;
  const Recipe recipe = std::get<0>(variant.code)(problem, tile);
  const ParamBytes others = recipe.imports.at(0).bind(given.address());
  ASSERT_EQ(others.size(), sizeof forward);
  std::memcpy(&forward, others.data(), sizeof forward);
  EXPECT_EQ(backward.inputs.o, nullptr);
  EXPECT_EQ(backward.inputs.final_state, nullptr);
  EXPECT_EQ(forward.o, given.bytes.at("o").data());
  EXPECT_EQ(forward.final_state, static_cast<void*>(given.bytes.at("final_state").data()));
  EXPECT_EQ(backward.dq, given.bytes.at("dq").data());
  EXPECT_EQ(backward.inputs.q, forward.q);
  EXPECT_EQ(backward.inputs.work[0], forward.work[0]) << "the states";
}

/// Of halves with imports and tensor maps, each finds its own.
TEST(TrainingPair, CountsModulesAndTensorMapsOfBothHalves) {
  const Variant pair =
      training_pair({"x", "y", chunk_sm90(gla_member()), backward_recurrent(gla_member())});
  const Problem problem = gla_training({2, 256, 3, 64, 64});
  const Tile tile = accepted_tile(pair, problem);
  ASSERT_FALSE(tile.empty());
  const Recipe recipe = std::get<0>(pair.code)(problem, tile);
  EXPECT_EQ(recipe.source, "linear_recurrence/backward/recurrent/recurrent.cuh");
  ASSERT_EQ(recipe.imports.size(), 1u);
  EXPECT_EQ(recipe.imports[0].source, "linear_recurrence/sm90/chunk_sm90.cuh");
  ASSERT_EQ(recipe.tensor_maps.size(), 5u);
  for (const TensorMap& map : recipe.tensor_maps) EXPECT_EQ(map.module, 1);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps.front()).module, 1);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps.back()).module, 0);
  EXPECT_EQ(pair.arithmetic(problem, tile), Arithmetic::bfloat16);
}

/// The forward of chunk_sm90 keeps states in bfloat16, of whole tiles of 64 keys and columns.
TEST(TrainingPair, HopperHalvesAgreeOnTheStatesThatOneLeavesToTheOther) {
  const Problem problem = gla_training({2, 530, 3, 104, 72});
  const Variant variant = training_chunk_sm90(gla_member());
  const std::size_t bytes = 2 * 3 * 9 * 128 * 128 * 2;
  int tiles = 0;
  for (const Tile& tile : all_tiles(variant.space)) {
    if (variant.reject(problem, tile, h200())) continue;
    ++tiles;
    const Region* states = find_region(variant.workspace(problem, tile), "chunk_states");
    ASSERT_NE(states, nullptr);
    EXPECT_TRUE(states->kept);
    EXPECT_EQ(states->bytes, bytes) << describe(tile);
    EXPECT_EQ(kept_bytes({&variant, problem, tile}), bytes) << describe(tile);
    for (const Variant& half :
         {chunk_sm90_with_states(gla_member()), backward_chunk_sm90_of_states(gla_member())})
      EXPECT_EQ(find_region(half.workspace(problem, tile), "chunk_states")->bytes, bytes);
    std::vector<std::string> entries;
    for (const KernelLaunch& launch : launches(variant, problem, tile))
      entries.push_back(launch.entry);
    EXPECT_EQ(std::count(entries.begin(), entries.end(), "chunk_sm90_keep_states"), 0);
    EXPECT_EQ(entries.back(), "chunk_sm90_gradients");
  }
  EXPECT_GT(tiles, 20);
}

TEST(TrainingPair, HopperForwardWritesTheStates) {
  const Problem problem = in_direction(gla_training({2, 530, 3, 104, 72}), Direction::forward);
  const Variant plain = chunk_sm90(gla_member()), keeping = chunk_sm90_with_states(gla_member());
  const Tile tile = accepted_tile(keeping, problem);
  ASSERT_FALSE(tile.empty());
  EXPECT_EQ(keeping.traffic(problem, tile).write_bytes - plain.traffic(problem, tile).write_bytes,
            2.0 * 3 * 9 * 128 * 128 * 2);
  EXPECT_EQ(keeping.traffic(problem, tile).read_bytes, plain.traffic(problem, tile).read_bytes);
  Problem ragged = problem;
  ragged.shape = {1, 530, 3, 104, 72};
  ragged.shape.sequences = 5;
  EXPECT_EQ(keeping.reject(ragged, tile, h200()), "keeps states of sequences of one length");
}

TEST(TrainingPair, HopperForwardKeepsStatesOfTwoBlocksAndNotOfFour) {
  const Variant keeping = chunk_sm90_with_states(gla_member());
  const auto clusters = [&](std::int64_t keys) {
    std::set<std::int64_t> taken;
    const Problem problem = in_direction(gla_training({2, 530, 3, keys, 256}), Direction::forward);
    for (const Tile& tile : all_tiles(keeping.space))
      if (!keeping.reject(problem, tile, h200())) taken.insert(tile.at("cluster"));
    return taken;
  };
  EXPECT_EQ(clusters(128), (std::set<std::int64_t>{1}));
  EXPECT_EQ(clusters(256), (std::set<std::int64_t>{1, 2}));
  // Four blocks would hold 320 keys without their states.
  const Problem wide = in_direction(gla_training({2, 530, 3, 320, 256}), Direction::forward);
  std::set<std::string> reasons;
  for (const Tile& tile : all_tiles(keeping.space))
    if (tile.at("cluster") == 4 && !chunk_sm90(gla_member()).reject(wide, tile, h200()))
      reasons.insert(keeping.reject(wide, tile, h200()).value_or(""));
  EXPECT_EQ(reasons, (std::set<std::string>{"keeps states of one or two blocks for all keys"}));
}

TEST(TrainingPair, RefusesByNameAndNeverThrows) {
  const Problem problem = gla_training({1, 64, 1, 64, 64});
  for (const Make make : all) {
    const Variant variant = make(gla_member());
    const Tile usual = accepted_tile(variant, problem);
    EXPECT_EQ(variant.reject(problem, usual, h200()), std::nullopt);
    const auto reason = [&](const Problem& p, const Tile& tile, const Limits& limits) {
      std::optional<std::string> text;
      EXPECT_NO_THROW(text = variant.reject(p, tile, limits));
      EXPECT_NE(text.value_or(""), "") << describe(p) << " " << describe(tile);
    };
    for (const Direction direction : {Direction::forward, Direction::backward})
      reason(in_direction(problem, direction), usual, h200());
    reason(problem, {}, h200());
    for (const TileAxis& axis : variant.space)
      for (const int value : {0, -1, 7, 1 << 30}) {
        Tile tile = usual;
        tile[axis.name] = value;
        reason(problem, tile, h200());
      }
    reason(gla_training({1, 64, 1, 0, 64}), usual, h200());
    reason(gla_training({1, 64, 1, 64, 513}), usual, h200());
    reason(problem, usual, {75, 65536, 0, 40});
    reason(problem, usual, {90, 1024, 0, 132});
    reason(gla_training({8, 4096, 16, 128, 128}), usual, {90, 232448, 1 << 12, 132});
  }
}

TEST(TrainingPair, TheWorkspaceOfBothMustFit) {
  const Problem problem = gla_training({8, 4096, 16, 128, 128});
  const Variant variant = training_chunk_materialized(gla_member());
  const Tile tile = accepted_tile(variant, problem);
  ASSERT_FALSE(tile.empty());
  const std::size_t all_bytes = workspace_bytes({&variant, problem, tile});
  // Each half alone has room in less.
  Limits limits = h200();
  limits.memory_bytes = all_bytes - 1;
  EXPECT_NE(variant.reject(problem, tile, limits), std::nullopt);
  limits.memory_bytes = all_bytes;
  EXPECT_EQ(variant.reject(problem, tile, limits), std::nullopt);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
