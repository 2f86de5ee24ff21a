// The layer's backward on a GPU, as far as it is data: tiles, products and launches.

#include <gtest/gtest.h>

#include "tests/kernels/gla_layer/problems.hpp"

namespace gla_bench::gla_layer {
namespace {

const Limits hopper{90, 232448, 0, 132};

const Variant& gradients_on_cuda() {
  return *layer_variants(BackendId::cuda, Direction::backward).front();
}

Recipe recipe_of(const Problem& problem, const Tile& tile) {
  return std::get<std::function<Recipe(const Problem&, const Tile&)>>(gradients_on_cuda().code)(
      problem, tile);
}

TEST(GlaLayerCudaBackward, ProductsFitTheirTensors) {
  const Problem problem =
      in_direction(layer(DType::bfloat16, {2, 100, 3, 64, 72}, 48), Direction::backward);
  const Tile tile{{"inner", 0}, {"inner_tile", 0}, {"tf32", 0}};
  ASSERT_EQ(gradients_on_cuda().reject(problem, tile, hopper), std::nullopt);
  std::map<std::string, std::int64_t> bytes;
  for (const TensorSpec& spec : find_operator("gla_layer")->tensors(problem))
    bytes[spec.name] = spec.bytes();
  for (const Region& region : gradients_on_cuda().workspace(problem, tile))
    bytes[region.name] = static_cast<std::int64_t>(region.bytes);
  int products = 0, sums_of_x = 0;
  for (const Step& step : recipe_of(problem, tile).steps) {
    const auto* product = std::get_if<MatrixProduct>(&step);
    if (product == nullptr) continue;
    ++products;
    const auto fits = [&](const MatrixOperand& of, std::int64_t rows, std::int64_t columns) {
      if (of.transposed) std::swap(rows, columns);
      EXPECT_EQ(of.ld, columns) << of.buffer;
      EXPECT_EQ(bytes.at(of.buffer), rows * columns * static_cast<std::int64_t>(size_of(of.dtype)))
          << of.buffer;
    };
    fits(product->a, product->m, product->k);
    fits(product->b, product->k, product->n);
    fits(product->c, product->m, product->n);
    if (product->c.buffer != "dx_sums") continue;
    EXPECT_EQ(product->beta, sums_of_x++ == 0 ? 0 : 1);
    EXPECT_EQ(product->alpha, product->a.buffer == "d_low" ? 1.0 / 16 : 1.0);
  }
  EXPECT_EQ(products, 5 + 1 + 1 + 3 + 5 + 5);
  EXPECT_EQ(sums_of_x, 5);
}

TEST(GlaLayerCudaBackward, StagesAreThoseOfTheModel) {
  const Problem problem =
      in_direction(layer(DType::bfloat16, {2, 128, 3, 64, 64}, 48), Direction::backward);
  const Tile tile{{"inner", 4}, {"inner_tile", 0}, {"tf32", 0}};
  ASSERT_EQ(gradients_on_cuda().reject(problem, tile, hopper), std::nullopt);
  std::vector<std::string> stages, modelled;
  for (const Step& step : recipe_of(problem, tile).steps)
    if (stages.empty() || stages.back() != stage_of(step)) stages.push_back(stage_of(step));
  for (const StageTraffic& stage : gradients_on_cuda().stages(problem, tile))
    modelled.push_back(stage.name);
  EXPECT_EQ(stages, modelled);
  const Traffic traffic = gradients_on_cuda().traffic(problem, tile);
  EXPECT_GE(traffic.read_bytes + traffic.write_bytes,
            find_operator("gla_layer")->work(problem).floor_bytes);
}

TEST(GlaLayerCudaBackward, EveryShapeHasATileOnEveryArchitecture) {
  for (const Limits& limits : {hopper, Limits{86, 101376, 0, 84}})
    for (const Problem& forward : assorted_problems()) {
      const Problem problem = in_direction(forward, Direction::backward);
      bool found = false;
      for (const Tile& tile : all_tiles(gradients_on_cuda().space))
        found = found || !gradients_on_cuda().reject(problem, tile, limits);
      EXPECT_TRUE(found) << describe(problem);
    }
}

}  // namespace
}  // namespace gla_bench::gla_layer
