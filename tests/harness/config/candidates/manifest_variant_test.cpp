#include "harness/config/candidates/manifest_variant.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/config/candidates/problem_numbers.hpp"
#include "harness/tensors/staging.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench {
namespace {

Variant variant_of_json(const Json& json) {
  const Manifest manifest = example::read(json);
  return variant_of(manifest, *find_operator(manifest.op), "",
                    std::make_shared<const std::map<std::string, std::string>>());
}

std::string refusal(const Json& json, const Problem& problem,
                    const Tile& tile = {{"block_v", 32}}) {
  return variant_of_json(json).reject(problem, tile, limits_of(90)).value_or("accepted");
}

Recipe recipe_of_example(const Json& json, const Problem& problem, int block_v = 64) {
  const Variant variant = variant_of_json(json);
  return std::get<std::function<Recipe(const Problem&, const Tile&)>>(variant.code)(
      problem, {{"block_v", block_v}});
}

TEST(ManifestVariant, IsAVariantAsItsManifestSays) {
  const Variant variant = variant_of_json(example::manifest());
  EXPECT_EQ(variant.op, "gla");
  EXPECT_EQ(variant.name, "naive_gla");
  EXPECT_EQ(variant.backend, BackendId::cuda);
  EXPECT_EQ(variant.space.at(0).values, (std::vector<int>{32, 64, 128}));
  EXPECT_EQ(variant.arithmetic(example::problem(), {{"block_v", 32}}), Arithmetic::float32);
  EXPECT_FALSE(variant.stages);
}

TEST(ManifestVariant, ItsRecipeIsTheExpressionsValues) {
  const Recipe recipe = recipe_of_example(example::manifest(), example::problem());
  EXPECT_EQ(recipe.source, "naive_gla.cu");
  EXPECT_EQ(recipe.constants, (std::vector<Constant>{{"", "KEY_DIM", 40}, {"", "VALUE_DIM", 72}}));
  ASSERT_EQ(recipe.steps.size(), 1u);
  const auto& launch = std::get<KernelLaunch>(recipe.steps[0]);
  EXPECT_EQ(launch.entry, "naive_gla");
  EXPECT_EQ(launch.grid, (Dim3{2, 3, 2}));
  EXPECT_EQ(launch.block, (Dim3{64, 1, 1}));
  EXPECT_EQ(launch.shared_bytes, 0u);
  ASSERT_EQ(launch.arguments.size(), 21u);
  EXPECT_EQ(std::get<BufferAddress>(launch.arguments[4]).name, "initial_state");
  EXPECT_EQ(std::get<std::int64_t>(launch.arguments[7]), 33);
  EXPECT_FLOAT_EQ(std::get<float>(launch.arguments[8]), 1 / std::sqrt(40.0f));
  EXPECT_EQ(std::get<std::int64_t>(launch.arguments[9]), 33 * 3 * 40);  // of q from row to row
}

TEST(ManifestVariant, RefusesWhatItsManifestDoesNotTake) {
  const Json json = example::manifest();
  EXPECT_EQ(refusal(json, example::problem()), "accepted");
  Problem p = example::problem();
  p.shape.key_dim = 129;
  EXPECT_EQ(refusal(json, p), "keeps a column of the state in registers, which hold 128 keys");
  EXPECT_EQ(refusal(json, example::problem(), {{"block_v", 48}}), "has no such tile");
  EXPECT_EQ(refusal(json, example::problem(), {}), "has no such tile");
  p = example::problem();
  p.options["gate_dtype"] = "float32";
  EXPECT_EQ(refusal(json, p), "takes no gate_dtype=float32");
  p.options = {{"in_place", "true"}};
  EXPECT_EQ(refusal(json, p), "accepted");
  p = example::problem();
  p.layout = Layout::head_first;
  EXPECT_EQ(refusal(json, p), "accepted");
  EXPECT_EQ(refusal(example::changed("/layouts", {"seq_first"}), p), "takes no layout head_first");
  EXPECT_EQ(refusal(example::changed("/dtypes", {{"float32", "float32"}}), example::problem()),
            "takes no bfloat16");
}

// What the problem has and the kernel is not given would be computed without it.
TEST(ManifestVariant, RefusesTensorsThatNoLaunchTakes) {
  const auto without = [](std::size_t argument) {
    Json json = example::manifest();
    json["launches"][0]["arguments"].erase(argument);
    return json;
  };
  Problem p = example::problem();
  EXPECT_EQ(refusal(without(4), p), "does not read initial_state");
  EXPECT_EQ(refusal(without(6), p), "does not write final_state");
  EXPECT_EQ(refusal(without(5), p), "does not write o");
  EXPECT_EQ(refusal(without(3), p), "accepted") << "gates are in every problem: verification tells";
  p.initial_state = p.final_state = false;
  EXPECT_EQ(refusal(without(4), p), "accepted");
  EXPECT_EQ(refusal(without(6), p), "accepted");
  p.shape = {1, 33, 3, 40, 72};
  p.shape.sequences = 4;
  EXPECT_EQ(refusal(example::manifest(), p), "does not read cu_seqlens");
  p = example::problem();
  p.scale = 0.5;
  EXPECT_EQ(refusal(example::manifest(), p), "accepted");
  EXPECT_EQ(refusal(without(8), p), "takes no scale but the default");
}

TEST(ManifestVariant, RefusesWhatCannotBeLaunched) {
  struct Case {
    const char* pointer;
    Json value;
    const char* reason;
  };
  const std::vector<Case> cases{
      {"/launches/0/grid/0", "seq - 33",
       "grid of naive_gla \"seq - 33\" is 0, not in 1..2147483647"},
      {"/launches/0/grid/2", 65536, "grid of naive_gla \"65536\" is 65536, not in 1..65535"},
      {"/launches/0/block/0", 1025, "block of naive_gla \"1025\" is 1025, not in 1..1024"},
      {"/launches/0/block", {32, 33}, "1056 threads are more than 1024"},
      {"/launches/0/shared_bytes", 300000, "300000 bytes of shared memory, 232448 are there"},
      {"/launches/0/shared_bytes", -1, "shared memory of naive_gla \"-1\" is -1, not in 0.."},
      {"/constants/KEY_DIM", "1 // (seq - 33)",
       "constant KEY_DIM \"1 // (seq - 33)\" has no value: "
       "expected no division by 0"},
      {"/constants/KEY_DIM", "2 ** 31", "constant KEY_DIM \"2 ** 31\" is 2147483648, not in"},
      {"/constants/KEY_DIM", "[1]",
       "constant KEY_DIM \"[1]\" has no value: expected a number in place of a list"},
      {"/launches/0/arguments/7", {{"int32", "seq * 2 ** 30"}}, "argument of naive_gla \"seq * 2"},
      {"/workspace", Json::array({Json{{"name", "w"}, {"bytes", "2 ** 60"}}}), "bytes of w \"2 **"},
      {"/bytes", {{"read", "0 - 1"}, {"write", 1}}, "bytes read \"0 - 1\" is -1, not in 0.."},
      {"/flops", "2 ** 70", "flops \"2 ** 70\" has no value: expected numbers within 64 bits"},
      {"/requires/0/condition", "arch >= 100", "keeps a column of the state in registers"}};
  for (const auto& [pointer, value, reason] : cases) {
    const std::string said = refusal(example::changed(pointer, value), example::problem());
    EXPECT_EQ(said.find(reason), 0u) << pointer << ": " << said;
  }
}

TEST(ManifestVariant, MovesTheFloorWhereItDoesNotSay) {
  const Problem p = example::problem();
  const Tile tile{{"block_v", 32}};
  const Variant silent = variant_of_json(example::manifest());
  const Operator& op = *find_operator("gla");
  const Traffic floor = silent.traffic(p, tile);
  EXPECT_EQ(floor.read_bytes + floor.write_bytes, op.work(p).floor_bytes);
  EXPECT_EQ(floor.write_bytes, 2.0 * 2 * 33 * 3 * 72 + 4.0 * 2 * 3 * 40 * 72);
  EXPECT_EQ(silent.flops(p, tile), op.work(p).flops);
  Json json = example::manifest();
  json["bytes"] = {{"read", "batch * element_bytes"}, {"write", "block_v"}};
  json["flops"] = "2 * seq";
  const Variant told = variant_of_json(json);
  EXPECT_EQ(told.traffic(p, tile).read_bytes, 4);
  EXPECT_EQ(told.traffic(p, tile).write_bytes, 32);
  EXPECT_EQ(told.flops(p, tile), 66);
}

TEST(ManifestVariant, StepsHaveStagesAndRegions) {
  Json json = example::manifest();
  json["workspace"] = Json::array({Json{{"name", "partials"}, {"bytes", "4 * heads"}}});
  json["launches"][0]["stage"] = "walk";
  json["launches"][0]["bytes"] = {{"read", 10}, {"write", 20}};
  json["launches"].insert(json["launches"].begin(), Json{{"zero", "partials"}, {"stage", "clear"}});
  json["launches"].push_back(json["launches"][1]);
  const Variant variant = variant_of_json(json);
  const Tile tile{{"block_v", 32}};
  const auto regions = variant.workspace(example::problem(), tile);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].bytes, 12u);
  const Recipe recipe = recipe_of_example(json, example::problem());
  ASSERT_EQ(recipe.steps.size(), 3u);
  EXPECT_EQ(std::get<Zero>(recipe.steps[0]).buffer, "partials");
  EXPECT_EQ(stage_of(recipe.steps[2]), "walk");
  const auto stages = variant.stages(example::problem(), tile);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].name, "clear");
  EXPECT_EQ(stages[1].traffic.read_bytes, 20) << "two launches of one stage";
}

// Strides are where staging puts the elements.
TEST(ProblemNumbers, StridesAreThoseOfMemory) {
  const Operator& op = *find_operator("gla");
  std::size_t compared = 0;
  for (const Layout layout : {Layout::seq_first, Layout::head_first})
    for (const char* option : {"", "packed", "state_layout"}) {
      Problem p = example::problem();
      p.layout = layout;
      if (option == std::string("packed")) p.options["packed"] = "true";
      if (option == std::string("state_layout")) p.options["state_layout"] = "value_first";
      if (op.refuse(p)) continue;
      const Tile tile;
      const NameValues numbers = numbers_of(op, p, tile);
      for (const TensorSpec& spec : op.tensors(p)) {
        const StoredRows rows = stored_rows(spec, layout);
        std::int64_t step = 1;  // elements of logical order from one index to the next
        for (std::size_t axis = spec.extents.size(); axis-- > 0; step *= spec.extents[axis]) {
          if (spec.extents[axis] == 1) continue;
          EXPECT_EQ(numbers(spec.name + "_stride_" + std::to_string(axis)),
                    rows.element(step) - rows.element(0))
              << describe(p) << " " << spec.name << " " << axis;
          ++compared;
        }
      }
    }
  EXPECT_EQ(compared, 5u * 28);
}

TEST(ProblemNumbers, EveryNameHasAValueAndNoOtherHas) {
  for (const Operator& op : operators())
    for (const Direction direction : op.directions) {
      Problem p;
      p.op = op.name;
      p.direction = direction;
      const Tile tile{{"block_v", 7}};
      const Limits limits = limits_of(90);
      const NameValues numbers = numbers_of(op, p, tile, &limits);
      for (const std::string& name : problem_names(op, direction))
        EXPECT_TRUE(numbers(name)) << op.name << " " << name;
      EXPECT_EQ(numbers("block_v"), 7);
      EXPECT_EQ(numbers("arch"), 90);
      EXPECT_EQ(numbers_of(op, p, tile)("arch"), std::nullopt);
      EXPECT_EQ(numbers("no_such"), std::nullopt);
    }
}

TEST(ProblemNumbers, OptionsAreNumbersOrFlags) {
  Problem p = example::problem();
  p.options = {{"state_size", "100"}, {"state_dtype", "bfloat16"}, {"in_place", "true"}};
  const Tile tile;
  const NameValues numbers = numbers_of(*find_operator("gla"), p, tile);
  EXPECT_EQ(numbers("state_size"), 100);
  EXPECT_EQ(numbers("state_dtype_bfloat16"), 1);
  EXPECT_EQ(numbers("state_dtype_float32"), 0);
  EXPECT_EQ(numbers("in_place"), 1);
  EXPECT_EQ(numbers("packed"), 0);
  EXPECT_EQ(numbers("element_bytes"), 2);
  p.op = "attention";
  p.shape.heads = 8;
  p.options.clear();
  const NameValues attention = numbers_of(*find_operator("attention"), p, tile);
  EXPECT_EQ(attention("key_heads"), 8) << "as many as heads";
  EXPECT_EQ(attention("causal"), 1);
}

}  // namespace
}  // namespace gla_bench
