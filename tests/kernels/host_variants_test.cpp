// Every host variant through the real backend and the real verification: all regimes, dtypes,
// layouts and ragged shapes, all tiles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "tests/support/verification.hpp"

namespace gla_bench {
namespace {

std::vector<const Variant*> host_variants() {
  std::vector<const Variant*> list;
  for (const Variant& variant : variants())
    if (variant.backend == BackendId::host && variant.op == "gla" &&
        variant.direction == Direction::forward)
      list.push_back(&variant);
  return list;
}

Problem gla(Shape shape, const std::string& gate, DType dtype) {
  Problem problem;
  problem.op = "gla";
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = dtype;
  return problem;
}

Tile default_tile(const Variant& variant) {
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  return tile;
}

// Every host variant of the family in every direction.
std::vector<const Variant*> family_variants() {
  std::vector<const Variant*> list;
  for (const Variant& variant : variants())
    if (variant.backend == BackendId::host &&
        find_operator(variant.op)->optional_extents == std::vector<std::string>{"sequences"})
      list.push_back(&variant);
  return list;
}

using Tiles = std::vector<Tile>;
using Point = std::tuple<const Operator*, Direction, std::string>;  // the last is a regime
// Each operator and direction of the family with every regime. A pair of training runs both of its
// halves as they are, which have points of their own: it has one regime.
std::vector<Point> all_points() {
  std::vector<Point> points;
  for (const Variant* variant : family_variants()) {
    const Operator* op = find_operator(variant->op);
    for (const std::string& gate : op->gates) {
      const Point point{op, variant->direction, gate};
      if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(point);
      if (variant->direction == Direction::training) break;
    }
  }
  return points;
}

// All variants of a point, one after the other, are held to references that are computed once.
class HostVariantsInRegimes : public testing::TestWithParam<Point> {
 protected:
  const Operator& op() const { return *std::get<0>(GetParam()); }
  Direction direction() const { return std::get<1>(GetParam()); }
  bool is_first_regime() const { return std::get<2>(GetParam()) == op().gates.front(); }
  std::vector<const Variant*> variants_of_point() const {
    std::vector<const Variant*> list = family_variants();
    std::erase_if(list, [&](const Variant* variant) {
      return variant->op != op().name || variant->direction != direction();
    });
    return list;
  }
  Problem problem(const Shape& shape, DType dtype) const {
    Problem p = gla(shape, std::get<2>(GetParam()), dtype);
    p.op = op().name;
    p.direction = direction();
    return p;
  }
  // Every variant against the reference with the tiles that `tiles_of` gives it.
  void check(const Problem& p, const std::function<Tiles(const Variant&)>& tiles_of) const {
    const auto backend = make_host_backend({.threads = 1});
    ProblemTruth truth(op(), p, op().draw(p));
    for (const Variant* variant : variants_of_point())
      for (const Tile& tile : tiles_of(*variant)) {
        const std::string what = variant->name + " " + describe(tile) + " on " + describe(p);
        if (const auto reason = variant->reject(p, tile, Limits{})) {
          ADD_FAILURE() << what << ": " << *reason;
          continue;
        }
        const Verification result = verify_on(*backend, truth, {variant, p, tile});
        EXPECT_TRUE(result.ok) << what << ": " << result.fault;
        EXPECT_TRUE(result.deterministic) << what;
      }
  }
  void check(const Problem& p) const {
    check(p, [](const Variant& variant) { return Tiles{default_tile(variant)}; });
  }
};

TEST_P(HostVariantsInRegimes, RightInEveryDtypeLayoutAndShape) {
  const std::vector<Shape> shapes{{1, 1, 1, 1, 1},   {2, 17, 2, 1, 16},   {1, 17, 3, 100, 72},
                                  {2, 65, 2, 16, 8}, {1, 65, 2, 100, 72}, {1, 150, 1, 33, 20}};
  for (const Shape& shape : shapes)
    for (const auto& [dtype, layout, initial] :
         {std::tuple{DType::float32, Layout::seq_first, true},
          std::tuple{DType::float32, Layout::head_first, false},
          std::tuple{DType::bfloat16, Layout::head_first, true},
          std::tuple{DType::float16, Layout::seq_first, false}}) {
      Problem p = problem(shape, dtype);
      p.layout = layout;
      p.initial_state = initial;
      check(p);
    }
}

TEST_P(HostVariantsInRegimes, RightWithEveryTile) {
  Problem p = problem({1, 147, 2, 24, 80}, DType::float32);
  p.initial_state = true;
  check(p, [](const Variant& variant) { return all_tiles(variant.space); });
}

TEST_P(HostVariantsInRegimes, RightForRaggedSequences) {
  for (const auto& [sequences, lengths, initial] :
       {std::tuple{1, "uniform", true}, std::tuple{4, "uniform", false},
        std::tuple{4, "skewed", true}, std::tuple{100, "skewed", true},
        std::tuple{100, "uniform", false}}) {
    // A gradient of a constant decay is one sum for each head, of which fewer than 8 say little.
    const bool sums = op().name == "retention" && has_gradients(direction());
    const Shape shape = sums ? Shape{1, 140, 8, 12, 20} : Shape{1, 140, 2, 12, 70};
    Problem p = problem(shape, DType::bfloat16);
    p.layout = sequences == 4 ? Layout::head_first : Layout::seq_first;
    p.shape.sequences = sequences;
    p.initial_state = initial;
    p.options["lengths"] = lengths;
    if (initial && p.direction == Direction::forward) p.options["in_place"] = "true";
    if (p.op == "linear_attention") p.options["normalize"] = "true";
    check(p);
  }
}

// Every option with every other one, in the operator's first regime; of training each option alone.
TEST_P(HostVariantsInRegimes, RightWithItsOptions) {
  if (!is_first_regime()) return;
  std::set<Problem> done;
  for (const OptionAxis& first : op().options)
    for (const std::string& choice : first.values)
      for (const OptionAxis& second : op().options)
        for (const std::string& other : second.values) {
          if (direction() == Direction::training && &first != &second) continue;
          const bool wide = choice == "float32" || other == "float32";  // only beside 16 bits
          Problem p = problem({2, 45, 2, 9, 70}, wide ? DType::bfloat16 : DType::float32);
          p.initial_state = true;
          p.gate = p.op == "gla" ? "typical" : p.gate;
          p.options = {{first.name, choice}, {second.name, other}};
          const bool is_new = done.insert(p).second;  // two options meet in either order
          if (is_new && !op().refuse(p) && option(op(), p, "states_every") == "0") check(p);
        }
}

// The states between the first token and the last, with every other option. Variants that walk
// along the tokens have them at the ends of their pieces, the others say that they form none.
TEST_P(HostVariantsInRegimes, RightWithStatesBetween) {
  if (!is_first_regime() || has_gradients(direction())) return;
  const auto forms_them = [](const Variant& variant) {
    return variant.name == "recurrent" || variant.name.starts_with("chunk_");
  };
  for (const OptionAxis& axis : op().options)
    for (const std::string& choice : axis.values) {
      const DType dtype = choice == "float32" ? DType::bfloat16 : DType::float32;
      Problem p = problem({2, 45, 2, 9, 70}, dtype);
      p.initial_state = true;
      p.options[axis.name] = choice;
      p.options["states_every"] = "32";
      if (op().refuse(p)) continue;
      check(p, [&](const Variant& variant) {
        Tile tile = default_tile(variant);
        if (tile.count("chunk") > 0) tile["chunk"] = 16;
        if (forms_them(variant)) return Tiles{tile};
        EXPECT_NE(variant.reject(p, tile, Limits{}).value_or("").find("states_every=0"),
                  std::string::npos)
            << variant.name << " on " << describe(p);
        return Tiles{};
      });
    }
}

// Gates in float32 and slices of one projection, as layers pass them.
TEST_P(HostVariantsInRegimes, RightWithInputsAsLayersHaveThem) {
  const auto has = [&](const char* option) {
    return std::any_of(op().options.begin(), op().options.end(),
                       [&](const OptionAxis& axis) { return axis.name == option; });
  };
  for (const DType dtype : {DType::bfloat16, DType::float16})
    for (const std::int64_t sequences : {0, 3}) {
      Problem p = problem({sequences > 0 ? 1 : 2, 85, 3, 20, 36}, dtype);
      p.shape.sequences = sequences;
      p.initial_state = sequences > 0;
      p.options["packed"] = "true";
      if (has("gate_dtype")) p.options["gate_dtype"] = "float32";
      ASSERT_EQ(op().refuse(p), std::nullopt);
      check(p);
    }
}

INSTANTIATE_TEST_SUITE_P(LinearRecurrence, HostVariantsInRegimes, testing::ValuesIn(all_points()),
                         [](const auto& instance) {
                           return std::get<0>(instance.param)->name + "_" +
                                  std::string(name(std::get<1>(instance.param))) + "_" +
                                  std::get<2>(instance.param);
                         });

HostTensors run(const Candidate& candidate, const HostTensors& inputs) {
  const auto backend = make_host_backend({.threads = 1});
  const auto workset = backend->stage(*find_operator("gla"), candidate.problem, inputs);
  const auto plan = backend->build(candidate);
  plan->prepare(*workset);
  workset->poison_outputs();
  plan->run();
  return workset->download_outputs();
}

// The worked example of the chunk form: 0..11 summed up in three chunks, each alone and then
// adjusted by what those before it hold.
TEST(HostVariants, PrefixSumInThreeChunks) {
  const std::vector<float> alone{0, 1, 3, 6, 4, 9, 15, 22, 8, 17, 27, 38};
  const std::vector<float> adjusted{0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66};
  HostTensors inputs;
  for (const char* name : {"q", "k"}) inputs[name].assign(12, 1.0f);
  inputs["g"].assign(12, 0.0f);
  for (int i = 0; i < 12; ++i) inputs["v"].push_back(static_cast<float>(i));
  for (const Variant* variant : host_variants()) {
    Problem problem = gla({3, 4, 1, 1, 1}, "none", DType::float32);
    problem.scale = 1.0;
    const HostTensors first = run({variant, problem, default_tile(*variant)}, inputs);
    EXPECT_EQ(first.at("o"), alone) << variant->name;
    EXPECT_EQ(first.at("final_state"), (std::vector<float>{6, 22, 38})) << variant->name;

    problem.initial_state = true;
    HostTensors carried = inputs;
    carried["initial_state"] = {0, 6, 28};
    EXPECT_EQ(run({variant, problem, default_tile(*variant)}, carried).at("o"), adjusted);

    // The same in one sequence, cut by the variant itself: chunks of four are not among the tiles,
    // but nothing in the code depends on the list.
    problem.initial_state = false;
    problem.shape = {1, 12, 1, 1, 1};
    Tile tile = default_tile(*variant);
    for (const char* axis : {"chunk", "block"})
      if (tile.contains(axis)) tile[axis] = 4;
    const HostTensors whole = run({variant, problem, tile}, inputs);
    EXPECT_EQ(whole.at("o"), adjusted) << variant->name;
    EXPECT_EQ(whole.at("final_state"), std::vector<float>{66}) << variant->name;
  }
}

TEST(HostVariants, TwoHalvesWithTheStateCarriedEqualOneRun) {
  const Operator& op = *find_operator("gla");
  for (const Variant* variant : host_variants()) {
    Problem whole = gla({1, 90, 1, 12, 10}, "typical", DType::float32);
    const HostTensors inputs = op.draw(whole);
    const HostTensors expected = run({variant, whole, default_tile(*variant)}, inputs);
    std::vector<float> o, state;
    for (const auto& [from, to] : {std::pair{0, 41}, std::pair{41, 90}}) {
      Problem part = whole;
      part.shape.seq = to - from;
      part.initial_state = from > 0;
      HostTensors cut;
      for (const auto& [name, values] : inputs) {
        const int row = name == "v" ? 10 : 12;
        cut[name].assign(values.begin() + from * row, values.begin() + to * row);
      }
      if (from > 0) cut["initial_state"] = state;
      const HostTensors result = run({variant, part, default_tile(*variant)}, cut);
      o.insert(o.end(), result.at("o").begin(), result.at("o").end());
      state = result.at("final_state");
    }
    for (std::size_t i = 0; i < o.size(); ++i)
      ASSERT_NEAR(o[i], expected.at("o")[i], 2e-6) << variant->name;
    for (std::size_t i = 0; i < state.size(); ++i)
      ASSERT_NEAR(state[i], expected.at("final_state")[i], 2e-6) << variant->name;
  }
}

// Constant decays up to 1 - 2^-16: a rounding that is alike in every chunk would add up.
TEST(HostVariants, LongSequencesOfConstantDecayKeepTheirPrecision) {
  Problem problem = gla({1, 6000, 12, 8, 8}, "retnet", DType::float32);
  problem.op = "retention";
  const Operator& op = *find_operator(problem.op);
  ProblemTruth truth(op, problem, op.draw(problem));
  const auto backend = make_host_backend({.threads = 1});
  for (const char* name : {"recurrent", "parallel", "chunk_materialized", "chunk_fused"}) {
    const Variant& variant = *find_variant(problem.op, name, BackendId::host);
    const Verification result =
        verify_on(*backend, truth, {&variant, problem, default_tile(variant)});
    EXPECT_TRUE(result.ok) << name << ": " << result.fault;
    EXPECT_TRUE(result.tensors.at("final_state").rel_l2 <= 6e-6) << name;
  }
}

TEST(HostVariants, SameBitsForEveryNumberOfThreads) {
  for (const Variant* variant : family_variants()) {
    const Operator& op = *find_operator(variant->op);
    Problem problem = gla({1, 300, 2, 20, 40}, "mild", DType::bfloat16);
    problem.op = variant->op;
    problem.direction = variant->direction;
    problem.shape.sequences = 3;
    const HostTensors inputs = op.draw(problem);
    std::vector<HostTensors> results;
    for (const int threads : {1, 3}) {
      const auto backend = make_host_backend({.threads = threads});
      const auto workset = backend->stage(op, problem, inputs);
      const auto plan = backend->build({variant, problem, default_tile(*variant)});
      plan->prepare(*workset);
      plan->run();
      results.push_back(workset->download_outputs());
    }
    EXPECT_EQ(results[0], results[1]) << variant->op << " " << variant->name;
  }
}

TEST(HostVariants, AreTheSameForEveryMember) {
  for (const char* op : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"})
    for (const char* name :
         {"recurrent", "parallel", "parallel_cublas", "chunk_materialized", "chunk_fused"})
      EXPECT_NE(find_variant(op, name, BackendId::host), nullptr) << op << " " << name;
  EXPECT_NE(find_variant("gla", "chunk_pipeline", BackendId::host), nullptr);
  for (const char* op : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"})
    for (const char* name : {"recurrent", "parallel", "chunk_materialized", "chunk_fused"})
      EXPECT_NE(find_variant(op, name, BackendId::host, Direction::backward), nullptr)
          << op << " " << name;
  for (const char* op : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"})
    for (const char* name : {"recurrent", "chunk_materialized", "chunk_fused"})
      EXPECT_NE(find_variant(op, name, BackendId::host, Direction::training), nullptr)
          << op << " " << name;
}

TEST(HostVariants, DescribeWhatTheyMove) {
  for (const Variant* variant : family_variants()) {
    const Operator& op = *find_operator(variant->op);
    for (const Shape& shape : {Shape{1, 1, 1, 1, 1}, Shape{2, 1000, 3, 100, 72},
                               Shape{1, 64, 1, 512, 512}, Shape{1, 64, 1, 12, 7}}) {
      Problem problem = gla(shape, "mild", DType::bfloat16);
      problem.op = variant->op;
      problem.direction = variant->direction;
      problem.initial_state = true;
      if (shape.key_dim == 12) problem.shape.sequences = 100;
      if (problem.op == "linear_attention") problem.options["normalize"] = "true";
      const Work work = op.work(problem);
      for (const Tile& tile : all_tiles(variant->space)) {
        EXPECT_EQ(variant->reject(problem, tile, Limits{}), std::nullopt);
        Limits device;
        device.arch = 90;
        EXPECT_NE(variant->reject(problem, tile, device), std::nullopt);
        const Traffic traffic = variant->traffic(problem, tile);
        EXPECT_GE(traffic.read_bytes + traffic.write_bytes, work.floor_bytes)
            << variant->op << " " << variant->name << " " << describe(tile);
        // The quadratic forms do more work than the recurrence only where T is long.
        if (!variant->name.starts_with("parallel")) {
          EXPECT_GE(variant->flops(problem, tile), work.flops) << variant->name;
        }
        EXPECT_GT(variant->flops(problem, tile), 0);
      }
    }
  }
}

TEST(HostVariants, WholeScoreMatricesHaveALimit) {
  const Variant& variant = *find_variant("gla", "parallel_cublas", BackendId::host);
  const Problem problem = gla({1, 1 << 20, 1, 16, 16}, "mild", DType::bfloat16);
  const auto reason = variant.reject(problem, default_tile(variant), Limits{});
  EXPECT_NE(reason.value_or("").find("whole score matrices"), std::string::npos);
  Limits small;
  small.memory_bytes = 1 << 20;
  const Problem shorter = gla({1, 4096, 1, 16, 16}, "mild", DType::bfloat16);
  EXPECT_NE(
      variant.reject(shorter, default_tile(variant), small).value_or("").find("MiB of workspace"),
      std::string::npos);
}

}  // namespace
}  // namespace gla_bench
