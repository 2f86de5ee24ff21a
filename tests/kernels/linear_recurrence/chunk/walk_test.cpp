#include "kernels/linear_recurrence/chunk/walk.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

std::vector<WalkShape> assorted_shapes() {
  std::vector<WalkShape> shapes;
  for (const int key_dim : {1, 16, 37, 100, 128, 512})
    for (const int chunk : {16, 32, 64})
      for (const int warps_k : {1, 2, 4})
        for (const int stages : {1, 2, 3})
          for (const bool outputs : {false, true})
            for (const auto& [io, gate, operand] :
                 {std::tuple{2, 2, 2}, std::tuple{2, 4, 2}, std::tuple{2, 2, 4},
                  std::tuple{2, 4, 4}, std::tuple{4, 4, 4}})
              for (const auto& [decay, special] :
                   {std::pair{0, false}, std::pair{0, true}, std::pair{1, false},
                    std::pair{2, false}, std::pair{3, false}, std::pair{3, true}})
                shapes.push_back({key_dim, io, gate, operand, chunk, 64, 16, warps_k, stages,
                                  outputs, decay, special && decay == 3, special && decay == 0});
  return shapes;
}

TEST(WalkLayout, RegionsFollowOneAnotherAligned) {
  for (const WalkShape& shape : assorted_shapes()) {
    const WalkLayout l{shape};
    const int places[] = {
        0,         l.operands, l.scratch,    l.scores, l.block_decays, l.chunk_decay, l.total_decay,
        l.factors, l.bonus,    l.normalizer, l.bytes};
    for (std::size_t i = 1; i < std::size(places); ++i) {
      EXPECT_GE(places[i], places[i - 1]);
      EXPECT_EQ(places[i] % 16, 0);
    }
    EXPECT_EQ(l.key_tile % 16, 0);
    EXPECT_EQ(l.value_tile % 16, 0);
    EXPECT_EQ(l.operand_tile % 16, 0);
  }
}

TEST(WalkLayout, ScratchHoldsScoreOperandsAndPartialOutputs) {
  for (const WalkShape& shape : assorted_shapes()) {
    if (!shape.outputs) continue;
    const WalkLayout l{shape};
    const int diagonal = 2 * l.operand_tile, levels = (l.levels - 1) * l.operand_tile;
    EXPECT_GE(l.scores - l.scratch, l.per_key ? diagonal + levels : 0);
    EXPECT_GE(l.scores - l.scratch, shape.warps_k * shape.chunk * l.partial_ld * 4);
  }
}

TEST(WalkLayout, EveryWarpHasTheSameWholeStepsOfKeys) {
  for (const WalkShape& shape : assorted_shapes()) {
    const WalkLayout l{shape};
    EXPECT_GE(l.keys, shape.key_dim);
    EXPECT_EQ(l.warp_keys % 16, 0);
    EXPECT_EQ(l.warp_keys * shape.warps_k, l.keys);
    EXPECT_EQ(8 << l.levels, shape.chunk);
  }
}

// Without decays per key there are no tiles but k, q and v, and no operands beside them.
TEST(WalkLayout, OnlyDecaysPerKeyTakeTiles) {
  for (WalkShape shape : assorted_shapes()) {
    const WalkLayout l{shape};
    const int key_tiles = (l.stage - l.value_tile - l.gate_tile) / l.key_tile;
    EXPECT_EQ(key_tiles, shape.outputs ? 2 : 1);
    EXPECT_EQ(l.gate_tile, shape.decay == 3 ? shape.chunk * l.key_ld * shape.gate_bytes : 0);
    if (shape.decay == 3) continue;
    EXPECT_EQ(l.scratch, l.operands);
    EXPECT_EQ(l.factors, l.block_decays);
    shape.decay = 3;
    shape.normalize = false;
    if (shape.key_dim < 100 || !shape.outputs || shape.stages == 3) continue;
    EXPECT_LT(l.bytes, WalkLayout{shape}.bytes);
  }
}

// The last level of the score tree replaces the gates only where both have the same format:
// otherwise a thread would overwrite gates that another one still has to read.
TEST(WalkLayout, OperandsReplaceTilesOfTheirOwnFormat) {
  for (const WalkShape& shape : assorted_shapes()) {
    if (shape.decay != 3) continue;
    const WalkLayout l{shape};
    const bool keys = shape.io_bytes == shape.operand_bytes;
    const bool gates = keys && shape.gate_bytes == shape.operand_bytes;
    EXPECT_EQ(l.in_place, keys);
    EXPECT_EQ(l.gates_in_place, gates);
    const int beside = shape.outputs ? (keys ? (gates ? 0 : 1) : 3) : (keys ? 0 : 1);
    EXPECT_EQ(l.scratch - l.operands, beside * l.operand_tile);
  }
}

// A phase writes the next chunk's scores and this one's partial outputs beside what it reads.
TEST(WalkLayout, ScoresAheadHaveSecondPlaces) {
  int ahead = 0;
  for (const WalkShape& shape : assorted_shapes()) {
    const WalkLayout l{shape};
    EXPECT_EQ(l.scores_ahead,
              shape.stages == 3 && shape.decay != 3 && shape.outputs && !shape.normalize);
    if (!l.scores_ahead) continue;
    ++ahead;
    EXPECT_EQ(l.scores - l.scratch, 2 * shape.warps_k * shape.chunk * l.partial_ld * 4);
    EXPECT_EQ(l.block_decays - l.scores, 2 * l.score_bytes);
    EXPECT_EQ(l.factor_slots, 3);
  }
  EXPECT_GT(ahead, 0);
}

// Eight rows of 16 bytes, read at once, must fall into different banks: rows an odd number of 16
// bytes apart. Float32 operands are read as pairs from four rows: rows 8 or 24 banks apart.
TEST(WalkLayout, RowsAreFreeOfBankConflicts) {
  for (const WalkShape& shape : assorted_shapes()) {
    const WalkLayout l{shape};
    if (shape.operand_bytes == 2) {
      EXPECT_EQ(l.key_ld * 2 / 16 % 2, 1);
      EXPECT_EQ(l.score_ld * 2 / 16 % 2, 1);
      EXPECT_EQ(l.value_ld * 2 / 16 % 2, 1);
    } else {
      EXPECT_EQ(l.key_ld % 16, 8);
      EXPECT_EQ(l.score_ld % 8, 4);
    }
  }
}

TEST(RefuseWalk, NamesWhatDoesNotFit) {
  const auto reason = [](const Problem& problem, Tile change, int chunk) {
    Tile tile = default_tile(walk_axes(gla_member()));
    for (const auto& [axis, value] : change) tile[axis] = value;
    return refuse_walk(problem, tile, chunk, h200()).value_or("accepted");
  };
  const Problem wide = gla(DType::float32, {1, 64, 1, 512, 512});
  const Problem usual = gla(DType::bfloat16, {1, 64, 1, 128, 128});
  EXPECT_EQ(reason(usual, {}, 32), "accepted");
  EXPECT_NE(reason(wide, {{"warps_k", 4}, {"block_v", 32}}, 64).find("shared memory"),
            std::string::npos);
  EXPECT_NE(reason(wide, {{"warps_k", 1}}, 16).find("registers"), std::string::npos);
  EXPECT_NE(reason(usual, {{"block_v", 256}}, 32).find("value_dim"), std::string::npos);
  EXPECT_NE(reason(gla(DType::bfloat16, {1, 64, 1, 16, 64}), {}, 32).find("warps_k"),
            std::string::npos);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
