// The layer's CUDA variants as data: no GPU.

#include <gtest/gtest.h>

#include <set>

#include "kernels/gla_layer/inner.hpp"
#include "tests/kernels/gla_layer/problems.hpp"

namespace gla_bench::gla_layer {
namespace {

const Limits h200{90, 232448, std::size_t{140} << 30, 132};
const Limits a10{86, 101376, std::size_t{24} << 30, 72};

template <class Check>
void for_each_accepted(const Limits& limits, Check check) {
  for (const Variant* variant : layer_variants(BackendId::cuda))
    for (const Problem& problem : assorted_problems())
      for (const Tile& tile : all_tiles(variant->space)) {
        if (tile.at("inner_tile") % 4 != 0) continue;  // the others differ in gla's tile alone
        if (variant->reject(problem, tile, limits)) continue;
        check(*variant, problem, tile);
        if (testing::Test::HasFailure()) return;
      }
}

std::set<std::string> buffers_of(const Variant& variant, const Problem& problem, const Tile& tile) {
  std::set<std::string> names;
  for (const TensorSpec& spec : find_operator("gla_layer")->tensors(problem))
    names.insert(spec.name);
  for (const Region& region : variant.workspace(problem, tile))
    EXPECT_TRUE(names.insert(region.name).second) << region.name << " is there twice";
  return names;
}

std::size_t bytes_of(const Variant& variant, const Problem& problem, const Tile& tile,
                     const std::string& name) {
  for (const TensorSpec& spec : find_operator("gla_layer")->tensors(problem))
    if (spec.name == name) return static_cast<std::size_t>(spec.bytes());
  for (const Region& region : variant.workspace(problem, tile))
    if (region.name == name) return region.bytes;
  return 0;
}

// One past the last element that a product touches in an operand, in bytes.
std::size_t end_of(const MatrixOperand& operand, std::int64_t rows, std::int64_t columns,
                   std::int64_t batch) {
  const std::int64_t elements =
      operand.offset + (batch - 1) * operand.stride + (rows - 1) * operand.ld + columns;
  return static_cast<std::size_t>(elements) * size_of(operand.dtype);
}

TEST(GlaLayerCuda, EveryStepHasItsBuffers) {
  for_each_accepted(h200, [](const Variant& variant, const Problem& problem, const Tile& tile) {
    const auto names = buffers_of(variant, problem, tile);
    const Recipe recipe = std::get<0>(variant.code)(problem, tile);
    for (const Step& step : recipe.steps) {
      if (const auto* zero = std::get_if<Zero>(&step)) {
        EXPECT_TRUE(names.contains(zero->buffer)) << zero->buffer;
      }
      const auto* product = std::get_if<MatrixProduct>(&step);
      if (product == nullptr) continue;
      const auto within = [&](const MatrixOperand& operand, std::int64_t rows,
                              std::int64_t columns) {
        if (operand.transposed) std::swap(rows, columns);
        EXPECT_TRUE(names.contains(operand.buffer)) << operand.buffer;
        EXPECT_LE(end_of(operand, rows, columns, product->batch),
                  bytes_of(variant, problem, tile, operand.buffer))
            << operand.buffer << " of " << describe(problem);
      };
      within(product->a, product->m, product->k);
      within(product->b, product->k, product->n);
      within(product->c, product->m, product->n);
    }
  });
}

TEST(GlaLayerCuda, ParametersFindEveryBufferOfTheirs) {
  for_each_accepted(h200, [](const Variant& variant, const Problem& problem, const Tile& tile) {
    const auto names = buffers_of(variant, problem, tile);
    std::set<std::string> asked;
    const Address address = [&](std::string_view name) -> void* {
      asked.emplace(name);
      static char somewhere;
      return names.contains(std::string(name)) ? &somewhere : nullptr;
    };
    EXPECT_FALSE(variant.bind(problem, tile, address).empty());
    for (const Module& module : std::get<0>(variant.code)(problem, tile).imports)
      EXPECT_FALSE(module.bind(address).empty());
    for (const char* name : {"q", "k", "v", "g", "o", "r", "low", "gated", "b_g", "w_2"})
      EXPECT_TRUE(asked.contains(name) && names.contains(name)) << name;
    // gla's workspace goes by names that are not the layer's.
    for (const std::string& name : names)
      if (name.starts_with("gla.")) {
        EXPECT_TRUE(asked.contains(name)) << name;
      }
  });
}

TEST(GlaLayerCuda, LaunchesFitAndNameStagesAndModules) {
  for (const Limits& limits : {h200, a10})
    for_each_accepted(
        limits, [&](const Variant& variant, const Problem& problem, const Tile& tile) {
          const Recipe recipe = std::get<0>(variant.code)(problem, tile);
          std::vector<std::string> stages, modelled;
          for (const Step& step : recipe.steps) {
            if (stages.empty() || stages.back() != stage_of(step)) stages.push_back(stage_of(step));
            const auto* launch = std::get_if<KernelLaunch>(&step);
            if (launch == nullptr) continue;
            EXPECT_EQ(launch->module > 0, launch->stage == "gla") << launch->entry;
            EXPECT_LE(static_cast<std::size_t>(launch->module), recipe.imports.size());
            EXPECT_LE(launch->shared_bytes, limits.shared_per_block);
            EXPECT_LE(launch->block.x * launch->block.y * launch->block.z, 1024u);
            EXPECT_GE(launch->grid.x, 1u);
          }
          for (const StageTraffic& stage : variant.stages(problem, tile))
            modelled.push_back(stage.name);
          EXPECT_EQ(stages, modelled);
        });
}

TEST(GlaLayerCuda, TrafficIsTheSumOfTheStagesAndAboveTheFloor) {
  const Operator& op = *find_operator("gla_layer");
  for_each_accepted(h200, [&](const Variant& variant, const Problem& problem, const Tile& tile) {
    double sum = 0;
    for (const StageTraffic& stage : variant.stages(problem, tile)) {
      EXPECT_GT(stage.traffic.read_bytes, 0) << stage.name;
      EXPECT_GT(stage.traffic.write_bytes, 0) << stage.name;
      sum += stage.traffic.read_bytes + stage.traffic.write_bytes;
    }
    const Traffic traffic = variant.traffic(problem, tile);
    EXPECT_EQ(traffic.read_bytes + traffic.write_bytes, sum);
    EXPECT_GE(sum, op.work(problem).floor_bytes) << describe(problem);
    EXPECT_GE(variant.flops(problem, tile), op.work(problem).flops) << describe(tile);
  });
}

TEST(GlaLayerCuda, TrafficByHand) {
  // 6 rows; N = 2 * 4 = 8, M = 2 * 16 = 32, d = 10; 2 bytes.
  const Problem problem = layer(DType::bfloat16, {2, 3, 2, 4, 16}, 10);
  const Tile tile{{"inner", 0}, {"inner_tile", 0}, {"tf32", 0}, {"tokens", 64}};
  const Variant& fused = *find_variant("gla_layer", "fused", BackendId::cuda);
  const auto stages = fused.stages(problem, tile);
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_EQ(stages[0].traffic.read_bytes, 2 * (5 * 6 * 10 + 10 * (8 + 8 + 32 + 32 + 16)));
  EXPECT_EQ(stages[0].traffic.write_bytes, 2 * 6 * (8 + 8 + 32 + 32 + 16));
  EXPECT_EQ(stages[1].traffic.read_bytes, 2 * (6 * 16 + 17 * 8));
  EXPECT_EQ(stages[1].traffic.write_bytes, 2 * 6 * 8);
  EXPECT_EQ(stages[3].traffic.read_bytes, 2 * (2 * 6 * 32 + 32));
  EXPECT_EQ(stages[3].traffic.write_bytes, 2 * 6 * 32);
  EXPECT_EQ(stages[4].traffic.read_bytes, 2 * (6 * 32 + 32 * 10));
  EXPECT_EQ(stages[4].traffic.write_bytes, 2 * 6 * 10);
  const Variant& composed = *find_variant("gla_layer", "composed", BackendId::cuda);
  const auto apart = composed.stages(problem, {{"inner", 0}, {"inner_tile", 0}, {"tf32", 0}});
  EXPECT_EQ(apart[1].traffic.read_bytes - stages[1].traffic.read_bytes, 4 * 6 * 8);
  EXPECT_EQ(apart[3].traffic.write_bytes - stages[3].traffic.write_bytes, 2 * 4 * 6 * 32);
}

TEST(GlaLayerCuda, EveryShapeHasATileOnEveryArchitecture) {
  for (const Limits& limits : {h200, a10})
    for (const Variant* variant : layer_variants(BackendId::cuda))
      for (const Problem& problem : assorted_problems()) {
        bool found = false;
        for (const Tile& tile : all_tiles(variant->space))
          found = found || !variant->reject(problem, tile, limits);
        EXPECT_TRUE(found) << describe(problem);
      }
}

TEST(GlaLayerCuda, ShortSequencesInBfloat16AreForFormsThatDoNotRoundTheirFactors) {
  Tile chunk_fused{{"inner", 0}, {"inner_tile", 0}, {"tf32", 0}, {"tokens", 64}};
  Tile recurrent = chunk_fused;
  recurrent["inner"] = 3;
  for (const Variant* variant : layer_variants(BackendId::cuda)) {
    const auto taken = [&](DType dtype, std::int64_t tokens, const Tile& tile) {
      return !variant->reject(layer(dtype, {1, tokens, 1, 64, 64}, 64), tile, h200);
    };
    EXPECT_FALSE(taken(DType::bfloat16, 63, chunk_fused)) << variant->name;
    EXPECT_TRUE(taken(DType::bfloat16, 64, chunk_fused)) << variant->name;
    EXPECT_TRUE(taken(DType::bfloat16, 63, recurrent)) << variant->name;
    EXPECT_TRUE(taken(DType::float16, 63, chunk_fused)) << variant->name;
  }
}

TEST(GlaLayerCuda, RejectIsTotal) {
  const Tile usual{{"inner", 0}, {"inner_tile", 0}, {"tf32", 0}, {"tokens", 64}};
  const Problem problem = layer(DType::bfloat16, {1, 64, 1, 64, 64}, 64);
  for (const Variant* variant : layer_variants(BackendId::cuda)) {
    const auto refused = [&](const Problem& p, const Tile& tile, const Limits& limits) {
      std::optional<std::string> reason;
      EXPECT_NO_THROW(reason = variant->reject(p, tile, limits));
      EXPECT_NE(reason.value_or(""), "") << describe(p) << " " << describe(tile);
    };
    EXPECT_EQ(variant->reject(problem, usual, h200), std::nullopt);
    refused(problem, {}, h200);
    for (const TileAxis& axis : variant->space)
      for (const int value : {-1, 7 << 20}) {
        Tile tile = usual;
        tile[axis.name] = value;
        refused(problem, tile, h200);
      }
    Tile tf32 = usual;
    tf32["tf32"] = 1;
    refused(problem, tf32, h200);
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{513}, std::int64_t{1} << 40}) {
      refused(layer(DType::bfloat16, {1, 64, 1, bad, 64}, 64), usual, h200);
      refused(layer(DType::bfloat16, {1, 64, 1, 64, bad}, 64), usual, h200);
    }
    refused(layer(DType::bfloat16, {1, 64, 1, 64, 64}, 0), usual, h200);
    refused(layer(DType::bfloat16, {1 << 20, std::int64_t{1} << 32, 1, 64, 64}, 64), usual, h200);
    Problem head_first = problem;
    head_first.layout = Layout::head_first;
    refused(head_first, usual, h200);
    refused(problem, usual, {75, 65536, 0, 40});
    refused(problem, usual, {90, 1024, 0, 132});
    refused(problem, usual, {90, 232448, 1 << 10, 132});
  }
}

TEST(GlaLayerCuda, DeclaresWhatItsProductsRound) {
  const Variant& variant = *find_variant("gla_layer", "fused", BackendId::cuda);
  const auto declared = [&](DType dtype, int inner, int tf32) {
    return variant.arithmetic(
        layer(dtype, {1, 64, 1, 64, 64}, 64),
        {{"inner", inner}, {"inner_tile", 0}, {"tf32", tf32}, {"tokens", 64}});
  };
  EXPECT_EQ(declared(DType::bfloat16, 0, 0), Arithmetic::bfloat16);
  EXPECT_EQ(declared(DType::bfloat16, 3, 0), Arithmetic::bfloat16) << "gla alone is in float32";
  EXPECT_EQ(declared(DType::float16, 0, 0), Arithmetic::float16);
  EXPECT_EQ(declared(DType::float32, 3, 0), Arithmetic::float32) << "recurrent";
  EXPECT_EQ(declared(DType::float32, 3, 1), Arithmetic::tf32);
  EXPECT_EQ(declared(DType::float32, 0, 0), Arithmetic::tf32) << "chunk_fused with one term";
}

}  // namespace
}  // namespace gla_bench::gla_layer
