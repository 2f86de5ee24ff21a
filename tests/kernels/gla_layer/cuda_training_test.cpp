// A step of the layer on a GPU, as far as it is data: what the passes launch, keep and move.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/kernels/gla_layer/problems.hpp"

namespace gla_bench::gla_layer {
namespace {

const Limits on_hopper{90, 232448, 0, 132};

const Variant& training_on_cuda() {
  return *layer_variants(BackendId::cuda, Direction::training).front();
}

Problem step_of(const Shape& shape, std::int64_t model_dim, DType dtype = DType::bfloat16) {
  return in_direction(layer(dtype, shape, model_dim), Direction::training);
}

Tile tile_of(int inner) {
  return {{"inner", inner}, {"inner_tile", 0}, {"tf32", 0}};
}

Recipe recipe_of_step(const Problem& problem, const Tile& tile) {
  return std::get<std::function<Recipe(const Problem&, const Tile&)>>(training_on_cuda().code)(
      problem, tile);
}

// The kernels and the results of the products, in order, by pass.
std::map<std::string, std::vector<std::string>> steps_of(const Recipe& recipe) {
  std::map<std::string, std::vector<std::string>> steps;
  for (const Step& step : recipe.steps) {
    const auto* launch = std::get_if<KernelLaunch>(&step);
    const auto* product = std::get_if<MatrixProduct>(&step);
    if (launch != nullptr) steps[launch->stage].push_back(launch->entry);
    if (product != nullptr) steps[product->stage].push_back(product->c.buffer);
  }
  return steps;
}

TEST(GlaLayerCudaTraining, IsAForwardAndABackwardThatFormsNothingOnceMore) {
  const Problem problem = step_of({2, 100, 3, 64, 72}, 48);
  ASSERT_EQ(training_on_cuda().reject(problem, tile_of(0), on_hopper), std::nullopt);
  const Recipe recipe = recipe_of_step(problem, tile_of(0));
  auto steps = steps_of(recipe);
  EXPECT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps["forward"], (std::vector<std::string>{
                                  "q", "k", "v", "r", "low", "gate_sums", "gate_activation",
                                  "chunk_fused", "output_gate", "layer_norm", "multiply", "y"}));
  EXPECT_EQ(steps["backward"], (std::vector<std::string>{"d_gated",
                                                         "norm_gate_gradients",
                                                         "chunk_gradients_fused",
                                                         "gradient_values",
                                                         "gate_gradients",
                                                         "d_low",
                                                         "dw_2",
                                                         "dw_o",
                                                         "key_bias",
                                                         "value_bias",
                                                         "dw_q",
                                                         "dx_sums",
                                                         "dw_k",
                                                         "dx_sums",
                                                         "dw_v",
                                                         "dx_sums",
                                                         "dw_r",
                                                         "dx_sums",
                                                         "dw_1",
                                                         "dx_sums",
                                                         "input_gradient"}));
  // No step of the forward follows one of the backward, which a loss lies before.
  bool back = false;
  for (const Step& step : recipe.steps) {
    back = back || stage_of(step) == "backward";
    EXPECT_EQ(stage_of(step) == "backward", back);
  }
}

// Of every kernel that is launched the module is there, and its parameters are found.
TEST(GlaLayerCudaTraining, EveryLaunchHasItsModuleAndEveryModuleItsBuffers) {
  for (const int inner : {0, 1, 2, 3, 4}) {
    const Problem problem = step_of({2, 128, 3, 64, 64}, 48);
    ASSERT_EQ(training_on_cuda().reject(problem, tile_of(inner), on_hopper), std::nullopt) << inner;
    std::set<std::string> names;
    for (const TensorSpec& spec : find_operator("gla_layer")->tensors(problem))
      names.insert(spec.name);
    for (const Region& region : training_on_cuda().workspace(problem, tile_of(inner)))
      EXPECT_TRUE(names.insert(region.name).second) << region.name << " is there twice";
    const Recipe recipe = recipe_of_step(problem, tile_of(inner));
    std::set<std::string> asked;
    const Address address = [&](std::string_view name) -> void* {
      asked.emplace(name);
      static char somewhere;
      return names.contains(std::string(name)) ? &somewhere : nullptr;
    };
    EXPECT_FALSE(training_on_cuda().bind(problem, tile_of(inner), address).empty());
    for (const Module& module : recipe.imports) EXPECT_FALSE(module.bind(address).empty());
    for (const std::string& name : names) EXPECT_TRUE(asked.contains(name)) << name << inner;
    std::set<int> launched;
    for (const Step& step : recipe.steps)
      if (const auto* launch = std::get_if<KernelLaunch>(&step)) launched.insert(launch->module);
    EXPECT_EQ(launched.size(), recipe.imports.size() + 1) << "of " << inner;
    EXPECT_EQ(*launched.rbegin(), static_cast<int>(recipe.imports.size()));
  }
}

// q, k, g of N = 8 columns, v, r and o of M = 32, low of 16, and the gate's sums in float32; 6 rows
// of bfloat16.
TEST(GlaLayerCudaTraining, KeepsTheForwardsTensorsAndTheStatesOfGla) {
  const Problem problem = step_of({2, 3, 2, 4, 16}, 10);
  const std::size_t own = 2u * 6 * (3 * 8 + 3 * 32 + 16) + 4u * 6 * 8;
  EXPECT_EQ(kept_bytes({&training_on_cuda(), problem, tile_of(2)}), own)
      << "the backward of recurrent forms its states itself";
  EXPECT_EQ(kept_bytes({&training_on_cuda(), problem, tile_of(0)}), own + 2u * 2 * 4 * 16 * 4)
      << "one chunk of each sequence and head";
}

TEST(GlaLayerCudaTraining, StatesWhatEachPassMoves) {
  const Problem problem = step_of({2, 128, 3, 64, 64}, 48);
  const Operator& op = *find_operator("gla_layer");
  for (const int inner : {0, 1, 2, 3, 4}) {
    const auto stages = training_on_cuda().stages(problem, tile_of(inner));
    ASSERT_EQ(stages.size(), 2u);
    EXPECT_EQ(stages[0].name, "forward");
    EXPECT_EQ(stages[1].name, "backward");
    double sum = 0;
    for (const StageTraffic& stage : stages) {
      const double bytes = stage.traffic.read_bytes + stage.traffic.write_bytes;
      EXPECT_GE(bytes, op.work(in_direction(problem, *parse_direction(stage.name))).floor_bytes);
      sum += bytes;
    }
    const Traffic traffic = training_on_cuda().traffic(problem, tile_of(inner));
    EXPECT_EQ(traffic.read_bytes + traffic.write_bytes, sum);
    EXPECT_GE(training_on_cuda().flops(problem, tile_of(inner)), op.work(problem).flops);
  }
}

TEST(GlaLayerCudaTraining, EveryShapeHasATileOnEveryArchitecture) {
  for (const Limits& limits : {on_hopper, Limits{86, 101376, 0, 84}})
    for (const Problem& forward : assorted_problems()) {
      const Problem problem = in_direction(forward, Direction::training);
      bool found = false;
      for (const Tile& tile : all_tiles(training_on_cuda().space))
        found = found || !training_on_cuda().reject(problem, tile, limits);
      EXPECT_TRUE(found) << describe(problem);
    }
}

TEST(GlaLayerCudaTraining, RefusesByName) {
  const Problem problem = step_of({1, 64, 1, 64, 64}, 64);
  const auto reason = [&](const Problem& p, const Tile& tile, const Limits& limits) {
    return training_on_cuda().reject(p, tile, limits).value_or("");
  };
  EXPECT_EQ(reason(problem, tile_of(0), on_hopper), "");
  EXPECT_NE(reason(problem, {}, on_hopper), "");
  EXPECT_NE(reason(problem, tile_of(5), on_hopper), "");
  EXPECT_EQ(reason(in_direction(problem, Direction::backward), tile_of(0), on_hopper),
            "training only");
  EXPECT_NE(reason(problem, tile_of(0), {75, 65536, 0, 40}), "");
  EXPECT_NE(reason(problem, tile_of(0), {90, 232448, 1 << 10, 132}), "");
  EXPECT_NE(reason(problem, tile_of(4), {86, 101376, 0, 84}).find("chunk_sm90"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::gla_layer
