// Every host variant of this family through the real backend and the real verification: all
// regimes, options, dtypes, layouts and tiles; and why biases are never one running sum.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/verification.hpp"

namespace gla_bench {
namespace {

Tile default_tile(const Variant& variant) {
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  return tile;
}

std::vector<const Variant*> host_variants(const std::string& op, Direction direction) {
  std::vector<const Variant*> list;
  for (const Variant& variant : variants())
    if (variant.backend == BackendId::host && variant.op == op && variant.direction == direction)
      list.push_back(&variant);
  return list;
}

// All variants on one problem, in both layouts; every tile where `all` says so.
void expect_right(Problem problem, bool all = false) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator(problem.op);
  if (op.refuse && op.refuse(problem)) return;
  for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
    problem.layout = layout;
    if (op.refuse && op.refuse(problem)) continue;
    ProblemTruth truth(op, problem, op.draw(problem));
    for (const Variant* variant : host_variants(problem.op, problem.direction)) {
      const auto tiles = all ? all_tiles(variant->space) : std::vector{default_tile(*variant)};
      for (const Tile& tile : tiles) {
        const Candidate candidate{variant, problem, tile};
        EXPECT_EQ(variant->reject(problem, tile, backend->limits()), std::nullopt);
        const Verification result = verify_on(*backend, truth, candidate);
        EXPECT_TRUE(result.ok) << describe(candidate) << ": " << result.fault;
        EXPECT_TRUE(result.deterministic) << describe(candidate);
      }
    }
    if (problem.op == "softmax") break;  // has no token axes
  }
}

Problem attention(const std::string& op, Shape shape, const std::string& gate, DType dtype,
                  Direction direction) {
  Problem problem;
  problem.op = op;
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = dtype;
  problem.direction = direction;
  if (direction == Direction::forward) problem.options["lse"] = "true";
  return problem;
}

// B, T, H, K, V, Tk, Hk
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list{{1, 1, 1, 1, 1},           {2, 17, 2, 5, 3},
                                       {1, 150, 2, 33, 20, 0, 1}, {1, 70, 4, 16, 24, 190, 2},
                                       {2, 90, 1, 16, 16, 61, 0}, {1, 1, 2, 64, 64, 300, 0}};
  return list;
}

using Point = std::tuple<std::string, Direction, std::string>;  // operator, direction, regime
class HostAttention : public testing::TestWithParam<Point> {};

TEST_P(HostAttention, RightInEveryDtypeLayoutAndShape) {
  const auto& [op, direction, gate] = GetParam();
  const bool one_key_has_it_all = gate == "peaked" || gate == "strong";
  for (const Shape& shape : shapes()) {
    // A single query with nearly all its weight on one key: its gradients are differences of equal
    // numbers.
    if (direction == Direction::backward && shape.seq == 1 && one_key_has_it_all) continue;
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      expect_right(attention(op, shape, gate, dtype, direction));
  }
}

TEST_P(HostAttention, RightWithEveryOptionAndTile) {
  const auto& [op, direction, gate] = GetParam();
  Problem problem = attention(op, {1, 147, 2, 24, 40, 0, 1}, gate, DType::float32, direction);
  expect_right(problem, true);
  if (op == "attention")
    problem.options["causal"] = "false";
  else
    problem.options["decay"] = "constant";
  expect_right(problem);
}

// Log decays in float32 and slices of one projection, as layers pass them.
TEST_P(HostAttention, RightWithInputsAsLayersHaveThem) {
  const auto& [op, direction, gate] = GetParam();
  for (const DType dtype : {DType::bfloat16, DType::float32})
    for (const Shape& shape : {Shape{2, 90, 4, 20, 12, 0, 2}, Shape{1, 33, 1, 5, 3}}) {
      Problem problem = attention(op, shape, gate, dtype, direction);
      problem.options["packed"] = "true";
      if (op == "decay_attention" && dtype != DType::float32)
        problem.options["gate_dtype"] = "float32";
      ASSERT_EQ(find_operator(op)->refuse(problem), std::nullopt);
      expect_right(problem);
    }
}

std::vector<Point> points() {
  std::vector<Point> list;
  for (const char* op : {"attention", "decay_attention"})
    for (const Direction direction : {Direction::forward, Direction::backward})
      for (const std::string& gate : find_operator(op)->gates)
        list.emplace_back(op, direction, gate);
  return list;
}

INSTANTIATE_TEST_SUITE_P(SoftmaxFamily, HostAttention, testing::ValuesIn(points()),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" +
                                  std::string(name(std::get<1>(instance.param))) + "_" +
                                  std::get<2>(instance.param);
                         });

TEST(HostSoftmax, RightInEveryRegimeDtypeAndTile) {
  for (const std::string& gate : find_operator("softmax")->gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::int64_t columns : {1, 5, 700, 3000}) {
        Problem problem;
        problem.op = "softmax";
        problem.shape.batch = 9;
        problem.shape.columns = columns;
        problem.gate = gate;
        problem.dtype = dtype;
        if (columns == 700) problem.scale = 0.7;
        expect_right(problem, true);
      }
}

TEST(HostSoftmax, GradientsAreRightInEveryRegimeDtypeAndTile) {
  for (const std::string& gate : find_operator("softmax")->gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::int64_t columns : {1, 5, 700, 3000}) {
        // Nearly all the weight of a shifted row of few columns is on one of them.
        if (gate == "shifted" && columns < 7) continue;
        Problem problem;
        problem.op = "softmax";
        problem.direction = Direction::backward;
        problem.shape.batch = 17;
        problem.shape.columns = columns;
        problem.gate = gate;
        problem.dtype = dtype;
        if (columns == 700) problem.scale = 0.7;
        expect_right(problem, true);
      }
}

TEST(HostSoftmax, RightOverTheLongestRows) {
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    Problem problem;
    problem.op = "softmax";
    problem.direction = direction;
    problem.shape.batch = 2;
    problem.shape.columns = 131072;
    problem.gate = "normal";
    expect_right(problem);
  }
}

// Most of the 100,000 exponentials are below half a unit of their float32 sum, and lost together.
TEST(HostSoftmax, SumsOfManySmallNumbersAreRight) {
  Problem problem;
  problem.op = "softmax";
  problem.shape.batch = 1;
  problem.shape.columns = 100000;
  problem.gate = "shifted";
  problem.scale = -0.7;
  for (const std::uint64_t seed : {1, 2, 3}) {
    problem.seed = seed;
    expect_right(problem);
  }
}

// The deterministic backward gives the same bits with any number of threads.
TEST(HostAttentionBackward, OneOrderWithAnyNumberOfThreads) {
  const Problem problem = attention("decay_attention", {2, 200, 2, 32, 32, 0, 1}, "typical",
                                    DType::float32, Direction::backward);
  const Operator& op = *find_operator(problem.op);
  const HostTensors inputs = op.draw(problem);
  const Variant& variant =
      *find_variant(problem.op, "flash2_deterministic", BackendId::host, Direction::backward);
  std::vector<HostTensors> results;
  for (const int threads : {1, 3}) {
    const auto backend = make_host_backend({.threads = threads});
    const auto workset = backend->stage(op, problem, inputs);
    const auto plan = backend->build({&variant, problem, default_tile(variant)});
    plan->prepare(*workset);
    workset->poison_outputs();
    plan->run();
    results.push_back(workset->download_outputs());
  }
  EXPECT_EQ(results[0], results[1]);
}

// A few queries at the end of 131,072 keys with strong decay. One running float32 sum of the log
// decays reaches -1e6, where neighbours of it are 1/16 apart: what it says of the nearest keys is
// wrong by percents. Sums of what lies between key and query are right.
class LongDecay : public testing::Test {
 protected:
  LongDecay() {
    problem_ = attention("decay_attention", {1, 4, 1, 16, 16, 131072, 0}, "strong", DType::float32,
                         Direction::forward);
    inputs_ = op_.draw(problem_);
  }

  // o from biases that are differences of one running sum.
  std::vector<float> with_running_sum() const {
    const Shape& s = problem_.shape;
    const std::vector<float>& decays = inputs_.at("log_decay");
    std::vector<float> sums(decays.size());
    float sum = 0;
    for (std::size_t t = 0; t < decays.size(); ++t) sums[t] = sum += decays[t];
    std::vector<float> o;
    for (std::int64_t query = 0; query < s.seq; ++query) {
      const std::int64_t position = query + s.key_seq - s.seq;
      std::vector<double> row(static_cast<std::size_t>(s.value_dim));
      double total = 0;
      for (std::int64_t j = 0; j <= position; ++j) {
        double logit = 0;
        for (std::int64_t c = 0; c < s.key_dim; ++c)
          logit += inputs_.at("q")[query * s.key_dim + c] * inputs_.at("k")[j * s.key_dim + c];
        const float bias = sums[position] - sums[j];
        const double weight = std::exp(logit / 4 + bias);
        total += weight;
        for (std::int64_t c = 0; c < s.value_dim; ++c)
          row[c] += weight * inputs_.at("v")[j * s.value_dim + c];
      }
      for (const double x : row) o.push_back(static_cast<float>(x / total));
    }
    return o;
  }

  const Operator& op_ = *find_operator("decay_attention");
  Problem problem_;
  HostTensors inputs_;
};

TEST_F(LongDecay, OneRunningSumErrsFarBeyondTheBound) {
  ProblemTruth truth(op_, problem_, inputs_);
  HostTensors outputs{{"o", with_running_sum()}};
  const auto& lse = truth.expected().at("lse");
  outputs["lse"].assign(lse.begin(), lse.end());
  const Verification result = judge(truth, outputs, Arithmetic::float32, default_tolerance());
  EXPECT_FALSE(result.ok);
  EXPECT_GT(result.tensors.at("o").rel_l2, 100 * result.tensors.at("o").bound);
}

TEST_F(LongDecay, SumsBetweenKeyAndQueryAreRight) {
  const auto backend = make_host_backend({.threads = 1});
  ProblemTruth truth(op_, problem_, inputs_);
  for (const Variant* variant : host_variants("decay_attention", Direction::forward)) {
    const Verification result =
        verify_on(*backend, truth, {variant, problem_, default_tile(*variant)});
    EXPECT_TRUE(result.ok) << variant->name << ": " << result.fault;
  }
}

TEST(HostSoftmaxAttention, RightForRaggedBatches) {
  for (const char* op : {"attention", "decay_attention"})
    for (const Direction direction : {Direction::forward, Direction::backward})
      for (const std::int64_t sequences : {3, 40}) {
        Shape shape{1, 300, 6, 12, 10, 410, 2};
        shape.sequences = sequences;
        Problem problem = attention(op, shape, op == std::string("attention") ? "normal" : "mild",
                                    DType::bfloat16, direction);
        problem.options["nan_sequence"] = "true";
        expect_right(problem);
        problem.options["lengths"] = "skewed";
        problem.options[op == std::string("attention") ? "causal" : "decay"] =
            op == std::string("attention") ? "false" : "constant";
        expect_right(problem);
      }
}

TEST(HostSoftmaxAttention, DecodingIsRightForPagedKeys) {
  const auto backend = make_host_backend({.threads = 1});
  for (const char* op_name : {"attention", "decay_attention"})
    for (const char* page : {"16", "64", "256"})
      for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
        Problem problem = attention(op_name, {5, 3, 6, 12, 10, 410, 2},
                                    op_name == std::string("attention") ? "normal" : "mild",
                                    DType::bfloat16, Direction::forward);
        problem.layout = layout;
        problem.options = {{"page_size", page}, {"lse", "true"}};
        const Operator& op = *find_operator(op_name);
        ProblemTruth truth(op, problem, op.draw(problem));
        for (const Variant* variant : host_variants(op_name, Direction::forward)) {
          const Candidate candidate{variant, problem, default_tile(*variant)};
          const auto reason = variant->reject(problem, candidate.tile, backend->limits());
          if (!variant->name.starts_with("flash_decoding")) {
            EXPECT_TRUE(reason && reason->starts_with("has no block_table")) << variant->name;
            continue;
          }
          ASSERT_EQ(reason, std::nullopt);
          const Verification result = verify_on(*backend, truth, candidate);
          EXPECT_TRUE(result.ok) << describe(candidate) << ": " << result.fault;
          EXPECT_TRUE(result.deterministic) << describe(candidate);
        }
      }
}

}  // namespace
}  // namespace gla_bench
