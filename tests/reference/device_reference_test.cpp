// Device references as data: what would be launched, with which parameters.

#include "core/device_reference.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "core/operator.hpp"
#include "reference/attention/params.h"
#include "reference/device_bytes.hpp"
#include "reference/linear_recurrence/params.h"

namespace gla_bench {
namespace {

Problem problem_of(const char* op, Shape shape, Direction direction = Direction::forward) {
  Problem problem;
  problem.op = op;
  problem.shape = shape;
  problem.direction = direction;
  return problem;
}

const DeviceReference& reference_of(const Problem& problem) {
  return *find_operator(problem.op)->device_reference;
}

ReferenceRecipe recipe_of(const Problem& problem, std::optional<Arithmetic> arithmetic = {}) {
  return *reference_of(problem).recipe(problem, arithmetic);
}

// Of each tensor and region of the problem an address of its own: its number from 1, in order.
struct Addresses {
  std::vector<std::string> names;

  Addresses(const Problem& problem, const ReferenceRecipe& recipe) {
    for (const TensorSpec& spec : find_operator(problem.op)->tensors(problem))
      names.push_back(spec.name);
    for (const Region& region : recipe.workspace) names.push_back(region.name);
  }
  void* at(std::string_view name) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return reinterpret_cast<void*>(i + 1);
    return nullptr;
  }
  Address address() const {
    return [this](std::string_view name) { return at(name); };
  }
};

template <class Params>
Params params_of(const ReferenceRecipe& recipe, const Addresses& addresses) {
  const ParamBytes bytes = recipe.bind(addresses.address());
  EXPECT_EQ(bytes.size(), sizeof(Params));
  Params params{};
  std::memcpy(&params, bytes.data(), sizeof params);
  return params;
}

int constant(const ReferenceRecipe& recipe, std::string_view scope, std::string_view name) {
  for (const Constant& c : recipe.constants)
    if (c.scope == scope && c.name == name) return c.value;
  ADD_FAILURE() << "no constant " << scope << "::" << name;
  return -1;
}

TEST(DeviceReference, EveryRecipeHasWhatTheBackendNeeds) {
  for (const Operator& op : operators())
    for (const Direction direction : op.directions) {
      if (!op.device_reference) continue;
      const Problem problem = problem_of(op.name.c_str(), {2, 70, 4, 64, 32}, direction);
      for (const std::optional<Arithmetic> arithmetic :
           {std::optional<Arithmetic>(), std::optional(Arithmetic::tf32)}) {
        if (op.name == "retention" && has_gradients(direction) && arithmetic) {
          EXPECT_FALSE(reference_of(problem).recipe(problem, arithmetic)) << "one running sum";
          continue;
        }
        const ReferenceRecipe recipe = recipe_of(problem, arithmetic);
        EXPECT_TRUE(recipe.source.starts_with("reference/")) << describe(problem);
        EXPECT_FALSE(recipe.launches.empty()) << describe(problem);
        EXPECT_TRUE(recipe.bind) << describe(problem);
        EXPECT_EQ(recipe.host_outputs.empty() || op.device_reference->finish, true)
            << describe(problem);
      }
    }
  EXPECT_FALSE(find_operator("softmax")->device_reference);
  EXPECT_FALSE(find_operator("gla_layer")->device_reference);
}

TEST(DeviceReference, TheRecurrenceHasABlockPerSequenceHeadAndSliceOfValues) {
  Problem problem = problem_of("gla", {3, 70, 4, 100, 72});
  const KernelLaunch launch = recipe_of(problem).launches.at(0);
  EXPECT_EQ(launch.entry, "linear_recurrence");
  EXPECT_EQ(launch.grid, (Dim3{12, 3, 1}));
  EXPECT_EQ(launch.block, (Dim3{128, 1, 1}));
  problem.shape.batch = 1;
  problem.shape.sequences = 7;
  const ReferenceRecipe ragged = recipe_of(problem);
  EXPECT_EQ(ragged.launches.at(0).grid, (Dim3{28, 3, 1}));
  EXPECT_EQ(constant(ragged, "trait", "ragged"), 1);
  EXPECT_TRUE(reference_of(problem).splits_batch(problem));
}

TEST(DeviceReference, TheRecurrencesGradientsHaveTheMemoryThatTheirLaunchesNeed) {
  Problem problem = problem_of("gla", {3, 70, 4, 100, 72}, Direction::training);
  const ReferenceRecipe recipe = recipe_of(problem);
  std::vector<std::string> entries;
  for (const KernelLaunch& launch : recipe.launches) entries.push_back(launch.entry);
  EXPECT_EQ(entries, (std::vector<std::string>{"linear_recurrence", "linear_recurrence_gradients",
                                               "linear_recurrence_token_sums",
                                               "linear_recurrence_head_sums"}));
  EXPECT_EQ(recipe.launches[1].grid, recipe.launches[0].grid);
  EXPECT_EQ(recipe.launches[2].grid, (Dim3{105, 1, 1})) << "840 tokens and heads, 8 to a block";
  EXPECT_EQ(recipe.launches[3].grid, (Dim3{4, 1, 1}));
  std::map<std::string, std::size_t> doubles;
  for (const Region& region : recipe.workspace) doubles[region.name] = region.bytes / 8;
  // Three sequences of two segments, numbered by where they begin.
  EXPECT_EQ(doubles.at("kept"), (210u / 64 + 3 + 1) * 4 * 100 * 72);
  EXPECT_EQ(doubles.at("walked"), 12u * 3 * 65 * 25 * 128);
  EXPECT_EQ(doubles.at("parts"), 3u * 3 * 840 * 100);
  EXPECT_FALSE(reference_of(problem).splits_batch(problem)) << "some gradients sum over the batch";
  problem.op = "linear_attention";
  problem.options = {{"normalize", "true"}};
  EXPECT_FALSE(reference_of(problem).recipe(problem, std::nullopt)) << "on the host";
}

TEST(DeviceReference, TheRecurrencesConstantsTellItsMembersAndOptionsApart) {
  const Shape shape{1, 20, 1, 100, 8};
  const auto decay = [&](const char* op) {
    return constant(recipe_of(problem_of(op, shape)), "trait", "decay");
  };
  EXPECT_EQ(decay("linear_attention"), 0);
  EXPECT_EQ(decay("retention"), 1);
  EXPECT_EQ(decay("simple_gla"), 2);
  EXPECT_EQ(decay("gla"), 3);
  EXPECT_EQ(constant(recipe_of(problem_of("gla", shape)), "trait", "before_update"), 0);
  EXPECT_EQ(constant(recipe_of(problem_of("rwkv6", shape)), "trait", "before_update"), 1);
  EXPECT_EQ(constant(recipe_of(problem_of("gla", shape)), "dim", "key_dim"), 100);
  Problem problem = problem_of("linear_attention", shape);
  EXPECT_EQ(constant(recipe_of(problem), "trait", "normalize"), 0);
  EXPECT_EQ(constant(recipe_of(problem), "trait", "elu_features"), 0);
  problem.options = {{"normalize", "true"}, {"feature_map", "elu_plus_one"}};
  EXPECT_EQ(constant(recipe_of(problem), "trait", "normalize"), 1);
  EXPECT_EQ(constant(recipe_of(problem), "trait", "elu_features"), 1);
  problem = problem_of("rwkv6", shape);
  EXPECT_EQ(constant(recipe_of(problem), "trait", "raw_gates"), 0);
  problem.options = {{"gate_input", "raw"}};
  EXPECT_EQ(constant(recipe_of(problem), "trait", "raw_gates"), 1);
}

TEST(DeviceReference, TheRecurrencesParametersAreTheProblems) {
  Problem problem = problem_of("rwkv6", {2, 70, 4, 16, 24});
  problem.initial_state = true;
  problem.scale = 0.25;
  const ReferenceRecipe recipe = recipe_of(problem);
  const Addresses at(problem, recipe);
  const auto p = params_of<recurrence::device::Params<double>>(recipe, at);
  EXPECT_EQ(p.q, at.at("q"));
  EXPECT_EQ(p.k, at.at("k"));
  EXPECT_EQ(p.v, at.at("v"));
  EXPECT_EQ(p.gate, at.at("w"));
  EXPECT_EQ(p.bonus, at.at("u"));
  EXPECT_EQ(p.initial_state, at.at("initial_state"));
  EXPECT_EQ(p.o, at.at("o"));
  EXPECT_EQ(p.final_state, at.at("final_state"));
  EXPECT_NE(p.final_state, nullptr);
  EXPECT_EQ(p.boundaries, nullptr);
  EXPECT_EQ(p.initial_normalizer, nullptr);
  EXPECT_EQ(p.final_normalizer, nullptr);
  EXPECT_EQ(p.seq, 70);
  EXPECT_EQ(p.heads, 4);
  EXPECT_EQ(p.value_dim, 24);
  EXPECT_EQ(p.scale, 0.25);
  problem.scale.reset();
  problem.op = "gla";
  const ReferenceRecipe plain = recipe_of(problem, Arithmetic::float32);
  EXPECT_EQ((params_of<recurrence::device::Params<float>>(plain, at).scale), 0.25);  // 16^-1/2
}

TEST(DeviceReference, AttentionHasABlockPer64RowsAnd128Columns) {
  Problem problem = problem_of("attention", {2, 130, 4, 20, 140, 275, 2});
  const std::vector<KernelLaunch> forward = recipe_of(problem).launches;
  ASSERT_EQ(forward.size(), 1u);
  EXPECT_EQ(forward[0].entry, "attention_forward");
  EXPECT_EQ(forward[0].grid, (Dim3{3 * 8, 2, 1}));
  EXPECT_EQ(forward[0].block, (Dim3{256, 1, 1}));
  problem.direction = Direction::backward;
  const std::vector<KernelLaunch> backward = recipe_of(problem).launches;
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[0].entry, "attention_backward_queries");
  EXPECT_EQ(backward[0].grid, (Dim3{3 * 8, 1, 1}));
  EXPECT_EQ(backward[1].entry, "attention_backward_keys");
  EXPECT_EQ(backward[1].grid, (Dim3{5 * 4, 3, 1}));
  EXPECT_FALSE(reference_of(problem).splits_batch(problem));
}

TEST(DeviceReference, AttentionRefusesAGridThatIsTooLarge) {
  Problem problem = problem_of("attention", {1 << 16, 64, 1 << 15, 1, 1});
  EXPECT_FALSE(reference_of(problem).recipe(problem, std::nullopt));
  problem.shape.batch = (1 << 16) - 1;
  EXPECT_TRUE(reference_of(problem).recipe(problem, std::nullopt));
}

TEST(DeviceReference, AttentionsParametersAreTheDirections) {
  Problem problem = problem_of("decay_attention", {2, 9, 4, 20, 14, 27, 2});
  problem.options = {{"lse", "true"}};
  const ReferenceRecipe forward = recipe_of(problem);
  const Addresses ahead(problem, forward);
  const auto p = params_of<attention::device::Params<double>>(forward, ahead);
  EXPECT_EQ(p.o, ahead.at("o"));
  EXPECT_EQ(p.lse, ahead.at("lse"));
  EXPECT_EQ(p.given_lse, nullptr);
  EXPECT_EQ(p.d, nullptr);
  EXPECT_EQ(p.decays, ahead.at("decays"));
  EXPECT_NE(p.decays, nullptr);
  EXPECT_EQ(p.resets, ahead.at("resets"));
  EXPECT_EQ(p.causal, 1);
  EXPECT_EQ(p.key_seq, 27);
  EXPECT_EQ(p.key_heads, 2);
  problem.options.clear();
  problem.direction = Direction::backward;
  const ReferenceRecipe back = recipe_of(problem, Arithmetic::bfloat16);
  const Addresses behind(problem, back);
  const auto b = params_of<attention::device::Params<float>>(back, behind);
  EXPECT_EQ(b.o, nullptr);
  EXPECT_EQ(b.lse, nullptr);
  EXPECT_EQ(b.given_lse, behind.at("lse"));
  EXPECT_EQ(b.d_o, behind.at("do"));
  EXPECT_EQ(b.d, behind.at("row terms"));
  EXPECT_EQ(b.dq, behind.at("dq"));
  EXPECT_EQ(b.row_sums, behind.at("row sums"));
  EXPECT_EQ(b.column_sums, behind.at("column sums"));
  EXPECT_EQ(b.distances, behind.at("distances"));
  EXPECT_EQ(back.host_outputs, std::vector<std::string>{"dlog_decay"});
}

// What prepare() gives must fill its regions: the backend copies as many bytes as a region has.
TEST(DeviceReference, PreparedRegionsHaveTheRecipesSizes) {
  for (const char* op : {"attention", "decay_attention"})
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const Problem problem = problem_of(op, {2, 70, 4, 8, 6, 90, 2}, direction);
      const HostTensors inputs = find_operator(op)->draw(problem);
      const ReferenceRecipe recipe = recipe_of(problem);
      const RegionBytes prepared = reference_of(problem).prepare(problem, inputs, std::nullopt);
      std::size_t found = 0;
      for (const Region& region : recipe.workspace)
        if (const auto values = prepared.find(region.name); values != prepared.end()) {
          EXPECT_EQ(values->second.size(), region.bytes) << describe(problem) << region.name;
          ++found;
        }
      EXPECT_EQ(found, prepared.size()) << describe(problem);
    }
}

// dlog_decay of a token is what the pairs before it that see it add up to.
TEST(DeviceReference, FinishMakesTheDecaysGradients) {
  const Problem problem = problem_of("decay_attention", {1, 3, 1, 4, 4}, Direction::backward);
  const HostTensors inputs = find_operator(problem.op)->draw(problem);
  const RegionBytes workspace{{"row sums", bytes_of(std::vector<double>{1, 2, 4})},
                              {"column sums", bytes_of(std::vector<double>{10, 20, 40})},
                              {"distances", bytes_of(std::vector<double>{5})}};
  const RegionBytes made = reference_of(problem).finish(problem, inputs, workspace, std::nullopt);
  EXPECT_EQ(values_of<double>(made.at("dlog_decay")), (std::vector<double>{0, 9, 27}));
  Problem constant = problem;
  constant.options = {{"decay", "constant"}};
  const RegionBytes one = reference_of(problem).finish(
      constant, find_operator(problem.op)->draw(constant), workspace, std::nullopt);
  EXPECT_EQ(values_of<double>(one.at("dlog_decay")), std::vector<double>{5});
}

}  // namespace
}  // namespace gla_bench
