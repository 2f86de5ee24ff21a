// Gated linear attention: hand-computed examples, the chunk form and a carried state.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/operator.hpp"
#include "tests/reference/recurrence_problems.hpp"

namespace gla_bench {
namespace {

TEST(Gla, HandComputedExample) {
  const Operator& op = *find_operator("gla");
  Problem problem = gla({1, 2, 1, 2, 1}, "none");
  problem.scale = 2.0;
  problem.initial_state = true;
  const auto half = static_cast<float>(std::log(0.5));
  const HostTensors inputs{{"q", {1, 2, 3, 4}},
                           {"k", {1, -1, 2, 1}},
                           {"v", {3, 5}},
                           {"g", {half, 0, -INFINITY, half}},
                           {"initial_state", {4, 10}}};
  // t=0: S = (0.5*4 + 1*3, 10 - 3) = (5, 7); o = 2 (1*5 + 2*7) = 38.
  // t=1: S = (0 + 2*5, 0.5*7 + 5) = (10, 8.5); o = 2 (3*10 + 4*8.5) = 128.
  const ReferenceTensors result = op.reference(problem, inputs);
  EXPECT_NEAR(result.at("o")[0], 38, 1e-6);
  EXPECT_NEAR(result.at("o")[1], 128, 1e-6);
  EXPECT_NEAR(result.at("final_state")[0], 10, 1e-6);
  EXPECT_NEAR(result.at("final_state")[1], 8.5, 1e-6);
}

// The worked example of the chunk form: prefix sums of 0..11 in three chunks of four, first each
// chunk on its own, then adjusted by what the chunks before it hold.
TEST(Gla, PrefixSumInThreeChunks) {
  const Operator& op = *find_operator("gla");
  Problem problem = gla({3, 4, 1, 1, 1}, "none");
  problem.scale = 1.0;
  HostTensors inputs{{"q", std::vector<float>(12, 1)},
                     {"k", std::vector<float>(12, 1)},
                     {"v", std::vector<float>(12)},
                     {"g", std::vector<float>(12, 0)}};
  std::iota(inputs["v"].begin(), inputs["v"].end(), 0.0f);
  const ReferenceTensors alone = op.reference(problem, inputs);
  EXPECT_EQ(alone.at("o"), (std::vector<double>{0, 1, 3, 6, 4, 9, 15, 22, 8, 17, 27, 38}));
  EXPECT_EQ(alone.at("final_state"), (std::vector<double>{6, 22, 38}));

  const std::vector<double> adjusted{0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66};
  problem.initial_state = true;
  inputs["initial_state"] = {0, 6, 28};  // chunk totals so far: 0, 6, 6 + 22
  EXPECT_EQ(op.reference(problem, inputs).at("o"), adjusted);

  problem.initial_state = false;
  problem.shape = {1, 12, 1, 1, 1};
  EXPECT_EQ(op.reference(problem, inputs).at("o"), adjusted);
}

// A [B,T,H,D] tensor cut to the tokens [from, to).
std::vector<float> cut(const std::vector<float>& values, const Shape& s, std::int64_t dim,
                       std::int64_t from, std::int64_t to) {
  std::vector<float> part;
  for (std::int64_t b = 0; b < s.batch; ++b)
    part.insert(part.end(), values.begin() + (b * s.seq + from) * s.heads * dim,
                values.begin() + (b * s.seq + to) * s.heads * dim);
  return part;
}

TEST(Gla, TwoHalvesWithTheStateCarriedEqualOneRun) {
  const Operator& op = *find_operator("gla");
  for (const std::string& gate : op.gates) {
    Problem whole = gla({2, 37, 3, 8, 6}, gate);
    const HostTensors inputs = op.draw(whole);
    const ReferenceTensors expected = op.reference(whole, inputs);
    const std::int64_t split = 13;
    ReferenceTensors parts[2];
    std::vector<float> state;
    for (const int half : {0, 1}) {
      const std::int64_t from = half == 0 ? 0 : split, to = half == 0 ? split : whole.shape.seq;
      Problem problem = whole;
      problem.shape.seq = to - from;
      HostTensors part;
      for (const char* name : {"q", "k", "g"})
        part[name] = cut(inputs.at(name), whole.shape, whole.shape.key_dim, from, to);
      part["v"] = cut(inputs.at("v"), whole.shape, whole.shape.value_dim, from, to);
      if (half == 1) {
        problem.initial_state = true;
        part["initial_state"] = state;
      }
      parts[half] = op.reference(problem, part);
      const auto& last = parts[half].at("final_state");
      state.assign(last.begin(), last.end());  // float32, as the interface carries it
    }
    EXPECT_TRUE(relative_difference(parts[1].at("final_state"), expected.at("final_state")) <= 1e-7)
        << gate;
    const std::int64_t row = whole.shape.heads * whole.shape.value_dim;
    for (std::int64_t b = 0; b < whole.shape.batch; ++b)
      for (std::int64_t t = 0; t < whole.shape.seq; ++t)
        for (std::int64_t i = 0; i < row; ++i) {
          const double got =
              t < split ? parts[0].at("o")[(b * split + t) * row + i]
                        : parts[1].at("o")[(b * (whole.shape.seq - split) + t - split) * row + i];
          ASSERT_NEAR(got, expected.at("o")[(b * whole.shape.seq + t) * row + i], 1e-5) << gate;
        }
  }
}

TEST(Gla, TensorsAndWork) {
  const Operator& op = *find_operator("gla");
  Problem problem = gla({2, 10, 3, 4, 5}, "mild", DType::bfloat16);
  problem.initial_state = true;
  double bytes = 0;
  std::vector<std::string> names;
  for (const TensorSpec& spec : op.tensors(problem)) {
    names.push_back(spec.name);
    bytes += static_cast<double>(spec.bytes());
    EXPECT_EQ(spec.tokens, spec.name.find("state") == std::string::npos);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"q", "k", "v", "g", "initial_state", "o", "final_state"}));
  // 60 tokens and heads of (3*4 + 2*5) bfloat16, 6 states of 4*5 floats in and out.
  EXPECT_EQ(bytes, 60 * 22 * 2 + 6 * 20 * 4 * 2);
  EXPECT_EQ(op.work(problem).floor_bytes, bytes);
  EXPECT_EQ(op.work(problem).flops, 4.0 * 60 * 4 * 5);
  EXPECT_DOUBLE_EQ(scale_of(op, problem), 0.5);
}

TEST(Gla, BaselineGrowsLessPreciseWithItsArithmetic) {
  const Operator& op = *find_operator("gla");
  const Problem problem = gla({1, 80, 2, 64, 32}, "mild");
  const HostTensors inputs = op.draw(problem);
  const ReferenceTensors expected = op.reference(problem, inputs);
  const auto error = [&](Arithmetic arithmetic) {
    const HostTensors plain = op.baseline(problem, inputs, arithmetic);
    const std::vector<double> o(plain.at("o").begin(), plain.at("o").end());
    return relative_difference(o, expected.at("o"));
  };
  const double f32 = error(Arithmetic::float32), tf32 = error(Arithmetic::tf32);
  const double bf16 = error(Arithmetic::bfloat16);
  EXPECT_TRUE(f32 > 1e-8 && f32 < 1e-6) << f32;
  EXPECT_TRUE(tf32 > 1e-4 && tf32 < 1e-3) << tf32;
  EXPECT_TRUE(bf16 > 1e-3 && bf16 < 8e-3) << bf16;
  EXPECT_EQ(error(Arithmetic::float16), tf32);
}

}  // namespace
}  // namespace gla_bench
