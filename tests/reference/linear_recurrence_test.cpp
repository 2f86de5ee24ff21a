// The references of the linear recurrences against an independent form and hand-computed examples.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "core/operator.hpp"
#include "reference/linear_recurrence/traits.hpp"
#include "tests/reference/recurrence_problems.hpp"

namespace gla_bench {
namespace {

// An operator and one of its regimes.
using Point = std::tuple<std::string, std::string>;

std::vector<Point> all_points() {
  std::vector<Point> points;
  for (const char* name : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"})
    for (const std::string& gate : find_operator(name)->gates) points.emplace_back(name, gate);
  return points;
}

class Regimes : public testing::TestWithParam<Point> {
 protected:
  const Operator& op() const { return *find_operator(std::get<0>(GetParam())); }
  Problem problem(const Shape& shape, DType dtype) const {
    Problem p = gla(shape, std::get<1>(GetParam()), dtype);
    p.op = op().name;
    return p;
  }

  // The recurrence against the quadratic form; false where there is no such problem.
  bool check(const Problem& p) const {
    if (op().refuse(p)) return false;
    const HostTensors inputs = op().draw(p);
    const ReferenceTensors a = op().reference(p, inputs), b = op().second_form(p, inputs);
    std::size_t outputs = 0;
    for (const TensorSpec& spec : op().tensors(p)) {
      if (spec.role != TensorSpec::Role::output) continue;
      ++outputs;
      EXPECT_TRUE(relative_difference(a.at(spec.name), b.at(spec.name)) <= 1e-12)
          << spec.name << " of " << describe(p);
    }
    EXPECT_EQ(a.size(), outputs);
    return true;
  }
};

TEST_P(Regimes, RecurrenceEqualsQuadraticForm) {
  const std::vector<Shape> shapes{{1, 1, 1, 1, 1},    {2, 17, 3, 5, 7},  {1, 65, 2, 100, 72},
                                  {1, 130, 1, 32, 1}, {1, 40, 2, 1, 33}, {1, 200, 1, 16, 16}};
  for (const Shape& shape : shapes)
    for (const bool initial : {false, true})
      for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        Problem p = this->problem(shape, dtype);
        p.initial_state = initial;
        if (shape.seq == 17) p.scale = -0.7;
        if (shape.seq == 40) p.scale = 0.0;
        EXPECT_TRUE(check(p)) << describe(p);
      }
}

TEST_P(Regimes, RecurrenceEqualsQuadraticFormOfRaggedSequences) {
  for (const std::int64_t sequences : {1, 5, 70})
    for (const char* lengths : {"uniform", "skewed"})
      for (const bool initial : {false, true}) {
        Problem p = problem({1, 60, 2, 5, 7}, DType::bfloat16);
        p.shape.sequences = sequences;
        p.initial_state = initial;
        p.options = {{"lengths", lengths}, {"state_dtype", "bfloat16"}};
        EXPECT_TRUE(check(p)) << describe(p);
      }
}

// Every combination of two options, with and without an initial state.
TEST_P(Regimes, RecurrenceEqualsQuadraticFormWithItsOptions) {
  int checked = 0;
  for (const OptionAxis& first : op().options)
    for (const std::string& choice : first.values)
      for (const OptionAxis& second : op().options)
        for (const std::string& other : second.values)
          for (const bool initial : {false, true}) {
            Problem p = problem({2, 37, 2, 9, 4}, DType::float16);
            p.initial_state = initial;
            p.options = {{first.name, choice}, {second.name, other}};
            checked += check(p);
          }
  EXPECT_GT(checked, 20);
}

INSTANTIATE_TEST_SUITE_P(LinearRecurrence, Regimes, testing::ValuesIn(all_points()),
                         [](const auto& instance) {
                           return std::get<0>(instance.param) + "_" + std::get<1>(instance.param);
                         });

Problem tiny(const std::string& op, Shape shape) {
  Problem problem = gla(shape, "mild");
  problem.op = op;
  problem.scale = 2.0;
  problem.initial_state = true;
  return problem;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

TEST(Rwkv6, HandComputedExample) {
  const Operator& op = *find_operator("rwkv6");
  Problem problem = tiny("rwkv6", {1, 2, 1, 2, 1});
  const auto half = static_cast<float>(std::log(0.5));
  HostTensors inputs{{"q", {1, 2, 3, 4}}, {"k", {1, -1, 2, 1}},
                     {"v", {3, 5}},       {"w", {half, 0, -INFINITY, half}},
                     {"u", {10, 100}},    {"initial_state", {4, 10}}};
  // t=0: o = 2 (1 (4 + 10 3) + 2 (10 - 100 3)) = 2 (34 - 580); S = (2 + 3, 10 - 3) = (5, 7).
  // t=1: o = 2 (3 (5 + 10 10) + 4 (7 + 100 5)) = 2 (315 + 2028); S = (0 + 10, 3.5 + 5).
  expect_near(op.reference(problem, inputs).at("o"), {-1092, 4686});
  expect_near(op.reference(problem, inputs).at("final_state"), {10, 8.5});
  // The same decays from w_raw: ln of 0.693 is a half, of 0 none, of infinity all.
  const auto raw_half = static_cast<float>(std::log(std::log(2.0)));
  inputs["w"] = {raw_half, -INFINITY, INFINITY, raw_half};
  problem.options = {{"gate_input", "raw"}};
  expect_near(op.reference(problem, inputs).at("o"), {-1092, 4686});
  expect_near(op.reference(problem, inputs).at("final_state"), {10, 8.5});
  EXPECT_EQ(op.default_scale(problem), 1.0);
}

TEST(Retention, HandComputedExample) {
  const Operator& op = *find_operator("retention");
  const HostTensors inputs{{"q", {1, 1, 1, 1}},
                           {"k", {1, 2, 3, 4}},
                           {"v", {1, 1, 1, 1}},
                           {"log_decay", {static_cast<float>(std::log(0.5)), -INFINITY}},
                           {"initial_state", {8, 8}}};
  // Head 0: S = 4 + 1, then 2.5 + 3. Head 1 keeps nothing: 2, 4.
  const ReferenceTensors result = op.reference(tiny("retention", {1, 2, 2, 1, 1}), inputs);
  expect_near(result.at("o"), {10, 4, 11, 8});
  expect_near(result.at("final_state"), {5.5, 4});
}

TEST(SimpleGla, HandComputedExample) {
  const Operator& op = *find_operator("simple_gla");
  const HostTensors inputs{{"q", {1, 1, 1, 0}},
                           {"k", {1, 2, 3, 4}},
                           {"v", {1, 1}},
                           {"g", {static_cast<float>(std::log(0.5)), -INFINITY}},
                           {"initial_state", {8, 6}}};
  // S = (4 + 1, 3 + 2), then (3, 4).
  const ReferenceTensors result = op.reference(tiny("simple_gla", {1, 2, 1, 2, 1}), inputs);
  expect_near(result.at("o"), {20, 6});
  expect_near(result.at("final_state"), {3, 4});
}

TEST(LinearAttention, HandComputedExample) {
  const Operator& op = *find_operator("linear_attention");
  Problem problem = tiny("linear_attention", {1, 2, 1, 1, 2});
  const HostTensors inputs{{"q", {1, -1}},
                           {"k", {2, -1}},
                           {"v", {1, 2, 3, 4}},
                           {"initial_state", {1, 0}},
                           {"initial_normalizer", {0.5}}};
  // S = (3, 4), then (0, 0).
  expect_near(op.reference(problem, inputs).at("o"), {6, 8, 0, 0});
  // phi(q) = 2, 1/e; phi(k) = 3, 1/e; S = (4, 6), then + 1/e (3, 4); z = 3.5, then + 1/e.
  problem.options = {{"feature_map", "elu_plus_one"}};
  const double e = std::exp(-1.0);
  const std::vector<double> o{16, 24, 2 * e * (4 + 3 * e), 2 * e * (6 + 4 * e)};
  expect_near(op.reference(problem, inputs).at("o"), o);
  problem.options["normalize"] = "true";
  const double first = 2 * 2 * 3.5 + 1e-6, second = 2 * e * (3.5 + e) + 1e-6;
  const ReferenceTensors result = op.reference(problem, inputs);
  expect_near(result.at("o"), {o[0] / first, o[1] / first, o[2] / second, o[3] / second});
  expect_near(result.at("final_state"), {4 + 3 * e, 6 + 4 * e});
  expect_near(result.at("final_normalizer"), {3.5 + e});
}

TEST(Ragged, SequencesDoNotSeeEachOther) {
  const Operator& op = *find_operator("simple_gla");
  Problem problem = tiny("simple_gla", {1, 3, 1, 1, 1});
  problem.shape.sequences = 4;
  const HostTensors inputs{{"q", {1, 1, 1}},
                           {"k", {1, 2, 3}},
                           {"v", {1, 1, 1}},
                           {"g", {0, 0, 0}},
                           {"cu_seqlens", {0, 0, 2, 2, 3}},
                           {"initial_state", {5, 10, 7, 20}}};
  const ReferenceTensors result = op.reference(problem, inputs);
  expect_near(result.at("o"), {22, 26, 46});
  expect_near(result.at("final_state"), {5, 13, 7, 23});
}

TEST(LinearRecurrence, RefusesWhatThereIsNot) {
  const auto reason = [](const Problem& problem) {
    return find_operator(problem.op)->refuse(problem).value_or("");
  };
  Problem problem = gla({2, 10, 1, 4, 4}, "mild");
  EXPECT_EQ(reason(problem), "");
  problem.shape.sequences = 3;
  EXPECT_NE(reason(problem).find("batch must be 1"), std::string::npos);
  problem.shape.batch = 1;
  EXPECT_EQ(reason(problem), "");
  problem.shape.seq = 1 << 24;
  EXPECT_NE(reason(problem).find("2^24"), std::string::npos);
  problem = gla({2, 10, 1, 4, 4}, "mild");
  problem.options = {{"in_place", "true"}};
  EXPECT_NE(reason(problem).find("in_place"), std::string::npos);
  problem.initial_state = true;
  EXPECT_EQ(reason(problem), "");
  problem.options = {{"state_size", "10000"}, {"state_dtype", "bfloat16"}};
  EXPECT_NE(reason(problem).find("state of size 10000"), std::string::npos);
  problem.options = {{"state_size", "10000"}};
  EXPECT_EQ(reason(problem), "");
  problem.options = {{"state_size", "100"}, {"state_dtype", "bfloat16"}};
  EXPECT_EQ(reason(problem), "");
  problem.options = {{"lengths", "skewed"}};
  EXPECT_NE(reason(problem).find("ragged"), std::string::npos);
  problem.op = "rwkv6";
  problem.options = {{"gate_input", "raw"}};
  EXPECT_EQ(reason(problem), "");
  for (const char* gate : {"none", "resets", "per_channel"}) {
    problem.gate = gate;
    EXPECT_NE(reason(problem).find(gate), std::string::npos);
  }
}

TEST(LinearRecurrence, GatesInFloat32AreForSixteenBitsAndPackedInputsLieByTokens) {
  Problem problem = gla({2, 10, 3, 4, 5}, "mild", DType::bfloat16);
  problem.options = {{"gate_dtype", "float32"}, {"packed", "true"}};
  for (const char* name : {"simple_gla", "gla", "rwkv6"}) {
    problem.op = name;
    const Operator& op = *find_operator(name);
    problem.dtype = DType::bfloat16;
    EXPECT_EQ(op.refuse(problem), std::nullopt);
    std::map<std::string, TensorSpec> specs;
    for (const TensorSpec& spec : op.tensors(problem)) specs[spec.name] = spec;
    const std::string gate = problem.op == "rwkv6" ? "w" : "g";
    EXPECT_EQ(specs.at(gate).dtype, DType::float32);
    EXPECT_EQ(specs.at(gate).token_pitch, 0);
    EXPECT_EQ(specs.at("o").token_pitch, 0);
    const std::int64_t pitch = 3 * (4 + 4 + 5);
    for (const auto& [slice, offset] : {std::pair{"q", 0}, {"k", 12}, {"v", 24}}) {
      EXPECT_EQ(specs.at(slice).dtype, DType::bfloat16);
      EXPECT_EQ(specs.at(slice).token_pitch, pitch);
      EXPECT_EQ(specs.at(slice).token_offset, offset);
      EXPECT_EQ(specs.at(slice).memory_bytes(), 2 * 10 * pitch * 2);
      EXPECT_EQ(specs.at(slice).first_byte(), offset * 2);
    }
    Problem dense = problem;
    dense.options.erase("packed");
    EXPECT_EQ(op.work(problem).floor_bytes, op.work(dense).floor_bytes);
    EXPECT_EQ(op.draw(problem), op.draw(dense));
    bool fine = false;  // gates that bfloat16 would round
    for (const float value : op.draw(problem).at(gate))
      fine = fine || value != round_to(DType::bfloat16, value);
    EXPECT_TRUE(fine) << name;
    problem.layout = Layout::head_first;
    EXPECT_NE(op.refuse(problem).value_or("").find("packed"), std::string::npos);
    problem.layout = Layout::seq_first;
    problem.dtype = DType::float32;
    EXPECT_NE(op.refuse(problem).value_or("").find("float32 already"), std::string::npos);
  }
  for (const char* name : {"linear_attention", "retention"})
    for (const OptionAxis& axis : find_operator(name)->options)
      EXPECT_NE(axis.name, "gate_dtype") << name;
}

TEST(LinearRecurrence, TensorsFollowTheOptions) {
  Problem problem = gla({1, 10, 3, 4, 5}, "none", DType::bfloat16);
  problem.op = "linear_attention";
  problem.initial_state = true;
  problem.shape.sequences = 7;
  problem.options = {{"normalize", "true"},
                     {"in_place", "true"},
                     {"state_dtype", "bfloat16"},
                     {"state_layout", "value_first"}};
  std::map<std::string, TensorSpec> specs;
  for (const TensorSpec& spec : find_operator(problem.op)->tensors(problem))
    specs[spec.name] = spec;
  EXPECT_EQ(specs.size(), 9u);
  EXPECT_EQ(specs.at("cu_seqlens").dtype, DType::int32);
  EXPECT_EQ(specs.at("cu_seqlens").extents, std::vector<std::int64_t>{8});
  for (const char* name : {"initial_state", "final_state"}) {
    EXPECT_EQ(specs.at(name).dtype, DType::bfloat16);
    EXPECT_EQ(specs.at(name).extents, (std::vector<std::int64_t>{7, 3, 4, 5}));
    EXPECT_TRUE(specs.at(name).value_first);
  }
  EXPECT_EQ(specs.at("final_state").in_place_of, "initial_state");
  EXPECT_EQ(specs.at("final_normalizer").in_place_of, "initial_normalizer");
  EXPECT_EQ(specs.at("final_normalizer").dtype, DType::float32);
  EXPECT_EQ(specs.at("initial_state").in_place_of, "");
  // 10 tokens of 3 heads: q, k, v, o; 7 states in and out with their normalizers; 8 boundaries.
  EXPECT_EQ(find_operator(problem.op)->work(problem).floor_bytes,
            30 * 18 * 2 + 21 * (20 * 2 + 4 * 4) * 2 + 8 * 4);
  for (const auto& [name, values] : find_operator(problem.op)->draw(problem)) {
    EXPECT_EQ(static_cast<std::int64_t>(values.size()), specs.at(name).elements());
    for (const float value : values) {
      ASSERT_EQ(value, round_to(specs.at(name).dtype, value));
      if (name == "k" || name == "initial_normalizer") {
        ASSERT_GT(value, 0) << name;
      }
    }
  }
}

// What errors of an output have in common (TensorSpec).
TEST(LinearRecurrence, TensorsSayWhatTheirErrorsShare) {
  Problem problem = gla({1, 64, 3, 4, 5}, "mild", DType::bfloat16);
  problem.options = {{"states_every", "16"}};
  for (const char* name : {"gla", "retention"}) {
    problem.op = name;
    for (const TensorSpec& spec : find_operator(name)->tensors(problem)) {
      if (spec.role == TensorSpec::Role::input) continue;
      EXPECT_EQ(spec.alike, spec.name == "o" ? 1 : 5) << spec.name;
      EXPECT_EQ(spec.decays_alike, problem.op == "retention") << spec.name;
      EXPECT_FALSE(spec.running_sum);
    }
  }
}

// As kernels form it: 2^(x log2(e)), whose product is rounded.
TEST(LinearRecurrence, PlainDecaysAreAsFarFromTheExactOnesAsThoseOfAGpu) {
  using recurrence::decay_of;
  EXPECT_EQ(decay_of(0.0f), 1);
  EXPECT_EQ(decay_of(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(decay_of(-8.25), std::exp(-8.25));
  double worst_strong = 0, worst_mild = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto error = [](float x) {
      const double exact = std::exp(static_cast<double>(x));
      return std::abs(decay_of(x) - exact) / exact;
    };
    worst_strong = std::max(worst_strong, error(-40 - 0.01f * static_cast<float>(i)));
    worst_mild = std::max(worst_mild, error(-0.001f - 0.0001f * static_cast<float>(i)));
  }
  EXPECT_LT(worst_mild, 0x1p-23);
  EXPECT_GT(worst_strong, 16 * 0x1p-24);
  EXPECT_LT(worst_strong, 72 * 0x1p-24);
}

TEST(LinearRecurrence, SomeQueriesOfNormalizedOutputsAreZero) {
  Problem problem = gla({1, 400, 2, 4, 5}, "none");
  problem.op = "linear_attention";
  problem.options = {{"normalize", "true"}};
  const Operator& op = *find_operator(problem.op);
  const HostTensors inputs = op.draw(problem);
  const auto o = op.reference(problem, inputs).at("o");
  int padded = 0;
  for (std::size_t row = 0; row < 800; ++row) {
    const auto query = std::span(inputs.at("q")).subspan(row * 4, 4);
    const bool zero = std::ranges::count(query, 0.0f) == 4;
    for (const float value : query) ASSERT_TRUE(zero || value > 0) << row;
    for (std::size_t i = row * 5; zero && i < row * 5 + 5; ++i) ASSERT_EQ(o[i], 0) << row;
    padded += zero;
  }
  EXPECT_NEAR(padded / 800.0, 1.0 / 16, 0.025);
}

TEST(LinearRecurrence, PlainComputationDoesNotRoundItsOutputs) {
  Problem problem = gla({1, 20, 2, 6, 5}, "mild");
  problem.dtype = DType::bfloat16;
  problem.options = {{"state_dtype", "bfloat16"}};
  const Operator& op = *find_operator("gla");
  const HostTensors plain = op.baseline(problem, op.draw(problem), Arithmetic::float32);
  for (const char* name : {"o", "final_state"}) {
    int rounded = 0;
    for (const float value : plain.at(name)) rounded += value == round_to(DType::bfloat16, value);
    EXPECT_LT(rounded, static_cast<int>(plain.at(name).size() / 4)) << name;
  }
}

}  // namespace
}  // namespace gla_bench
