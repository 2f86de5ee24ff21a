// The backward of the linear recurrences against an independent form, central differences of the
// forward, and numbers worked out by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/operator.hpp"
#include "tests/reference/central_differences.hpp"
#include "tests/reference/recurrence_problems.hpp"

namespace gla_bench {
namespace {

constexpr const char* family[] = {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"};
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

Problem backward(const std::string& op, Shape shape, const std::string& gate) {
  Problem problem = gla(shape, gate);
  problem.op = op;
  problem.direction = Direction::backward;
  return problem;
}

// Every value of every option of the operator alone, where such a problem exists.
std::vector<Problem> with_options(const Problem& plain) {
  const Operator& op = *find_operator(plain.op);
  std::vector<Problem> list{plain};
  for (const OptionAxis& axis : op.options)
    for (std::size_t i = 1; i < axis.values.size(); ++i) {
      list.push_back(plain);
      list.back().options[axis.name] = axis.values[i];
    }
  list.push_back(plain);
  list.back().options = {{"feature_map", "elu_plus_one"}, {"normalize", "true"}};
  std::erase_if(list, [&](const Problem& problem) {
    const bool has = std::all_of(problem.options.begin(), problem.options.end(), [&](auto& one) {
      return std::any_of(op.options.begin(), op.options.end(),
                         [&](const OptionAxis& axis) { return axis.name == one.first; });
    });
    return !has || flag(problem, "nan_sequence") || op.refuse(problem);
  });
  return list;
}

void expect_second_form(const Problem& problem) {
  const Operator& op = *find_operator(problem.op);
  const HostTensors inputs = op.draw(problem);
  const ReferenceTensors a = op.reference(problem, inputs), b = op.second_form(problem, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, values] : a)
    EXPECT_LE(relative_difference(values, b.at(name)), 1e-10)
        << name << " of " << describe(problem);
}

TEST(RecurrenceBackward, IsItsSecondForm) {
  for (const char* name : family)
    for (const std::string& gate : find_operator(name)->gates)
      for (const bool initial : {false, true})
        for (const bool last : {false, true})
          for (Shape shape : {Shape{1, 37, 1, 6, 5}, Shape{2, 1, 2, 3, 4}}) {
            Problem problem = backward(name, shape, gate);
            problem.initial_state = initial;
            problem.final_state = last;
            problem.scale = -0.7;
            expect_second_form(problem);
          }
}

TEST(RecurrenceBackward, IsItsSecondFormWithEveryOption) {
  for (const char* name : family)
    for (const bool ragged : {false, true}) {
      Problem plain = backward(name, {1, 40, 2, 6, 5}, find_operator(name)->gates.back());
      plain.initial_state = true;
      if (ragged) plain.shape.sequences = 5;
      for (const Problem& problem : with_options(plain)) expect_second_form(problem);
    }
}

void expect_gradients(const Problem& problem) {
  const Operator& op = *find_operator(problem.op);
  HostTensors inputs = op.draw(problem);
  // At 0, elu_plus_one has no second derivative, and a step over 0 is no central one.
  for (const char* name : {"q", "k"})
    for (float& x : inputs.at(name))
      if (option(problem, "feature_map") == "elu_plus_one" && std::abs(x) < 0x1p-6f) x = 0x1p-6f;
  const ReferenceTensors gradients = op.reference(problem, inputs);
  for (const auto& [name, values] : gradients) {
    const auto differences = central_differences(problem, inputs, name.substr(1));
    EXPECT_LE(relative_difference(values, differences), 1e-6)
        << name << " of " << describe(problem);
  }
}

TEST(RecurrenceBackward, IsTheGradientOfTheForward) {
  for (const char* name : family)
    for (const std::string& gate : find_operator(name)->gates)
      for (const bool states : {false, true}) {
        Problem problem = backward(name, {2, 5, 2, 3, 2}, gate);
        problem.initial_state = problem.final_state = states;
        problem.seed = 7;
        expect_gradients(problem);
      }
}

TEST(RecurrenceBackward, IsTheGradientOfTheForwardWithEveryOption) {
  for (const char* name : family) {
    Problem plain = backward(name, {1, 7, 2, 3, 2}, find_operator(name)->gates.front());
    plain.initial_state = true;
    plain.shape.sequences = 3;
    for (const Problem& problem : with_options(plain)) {
      if (option(problem, "state_size") == "10000") continue;  // differences lose its digits
      if (flag(problem, "normalize") && option(problem, "feature_map") == "identity")
        continue;  // padded queries have no differences; below they are without
      expect_gradients(problem);
    }
  }
}

TEST(RecurrenceBackward, IsTheGradientOfAQuotient) {
  const Operator& op = *find_operator("linear_attention");
  Problem problem = backward("linear_attention", {1, 6, 1, 3, 2}, "none");
  problem.options["normalize"] = "true";
  problem.initial_state = true;
  // Of several draws, one in which no query is padded.
  const auto padded = [&] {
    const std::vector<float> q = op.draw(problem).at("q");
    return std::find(q.begin(), q.end(), 0.0f) != q.end();
  };
  while (padded()) ++problem.seed;
  expect_gradients(problem);
}

// gla with two tokens and one key and value: S_1 = k_1 v_1, o_1 = q_1 S_1, S_2 = e^g S_1 + k_2 v_2.
TEST(RecurrenceBackward, TwoTokensByHand) {
  const Operator& op = *find_operator("gla");
  Problem problem = backward("gla", {1, 2, 1, 1, 1}, "mild");
  problem.scale = 1.0;
  const auto g = static_cast<float>(std::log(0.5));
  const HostTensors inputs{{"q", {2, 3}},  {"k", {5, 7}},    {"v", {11, 13}},
                           {"g", {-1, g}}, {"do", {17, 19}}, {"dfinal_state", {23}}};
  const ReferenceTensors d = op.reference(problem, inputs);
  // D_2 = q_2 do_2 + 23 = 80, D_1 = q_1 do_1 + D_2 / 2 = 74; S_1 = 55, S_2 = 118.5.
  EXPECT_NEAR(d.at("dq")[0], 55 * 17, 1e-3);
  EXPECT_NEAR(d.at("dq")[1], 118.5 * 19, 1e-3);
  EXPECT_NEAR(d.at("dk")[0], 74 * 11, 1e-3);
  EXPECT_NEAR(d.at("dk")[1], 80 * 13, 1e-3);
  EXPECT_NEAR(d.at("dv")[0], 74 * 5, 1e-3);
  EXPECT_NEAR(d.at("dv")[1], 80 * 7, 1e-3);
  EXPECT_EQ(d.at("dg")[0], 0);  // there is nothing yet that it decays
  EXPECT_NEAR(d.at("dg")[1], 80 * 0.5 * 55, 1e-3);
}

// rwkv6 with one token: o = q (S_0 + u k v), S_1 = e^w S_0 + k v.
TEST(RecurrenceBackward, OneTokenBeforeTheUpdateByHand) {
  const Operator& op = *find_operator("rwkv6");
  Problem problem = backward("rwkv6", {1, 1, 1, 1, 1}, "mild");
  problem.initial_state = true;
  const auto w = static_cast<float>(std::log(0.25));
  const HostTensors inputs{{"q", {2}},   {"k", {3}},
                           {"v", {5}},   {"w", {w}},
                           {"u", {7}},   {"initial_state", {11}},
                           {"do", {13}}, {"dfinal_state", {17}}};
  const ReferenceTensors d = op.reference(problem, inputs);
  EXPECT_NEAR(d.at("dq")[0], (11 + 7 * 3 * 5) * 13, 1e-3);
  EXPECT_NEAR(d.at("dk")[0], 2 * 7 * 5 * 13 + 17 * 5, 1e-3);
  EXPECT_NEAR(d.at("dv")[0], 2 * 7 * 3 * 13 + 17 * 3, 1e-3);
  EXPECT_NEAR(d.at("du")[0], 2 * 3 * 5 * 13, 1e-3);
  EXPECT_NEAR(d.at("dw")[0], 17 * 0.25 * 11, 1e-3);
  EXPECT_NEAR(d.at("dinitial_state")[0], 2 * 13 + 0.25 * 17, 1e-3);
}

// A total decay lets nothing pass, and its gate has the gradient 0.
TEST(RecurrenceBackward, GateOfTotalDecayHasNoGradient) {
  for (const char* name : {"retention", "simple_gla", "gla", "rwkv6"}) {
    Problem problem = backward(name, {1, 6, 2, 3, 4}, "resets");
    problem.initial_state = true;
    const Operator& op = *find_operator(name);
    HostTensors inputs = op.draw(problem);
    const std::string gate = problem.op == "retention" ? "log_decay"
                             : problem.op == "rwkv6"   ? "w"
                                                       : "g";
    std::fill(inputs.at(gate).begin(), inputs.at(gate).end(), minus_infinity);
    for (const auto& compute : {op.reference, op.second_form})
      for (const auto& [tensor, values] : compute(problem, inputs))
        for (const double x : values) {
          EXPECT_TRUE(std::isfinite(x)) << name << " " << tensor;
          EXPECT_TRUE(tensor != "d" + gate || x == 0.0) << name;
        }
  }
}

// exp(100) is beyond float32, so that the plain computation's log decay is -inf.
TEST(RecurrenceBackward, RawGateOfTotalDecayHasNoGradient) {
  const Operator& op = *find_operator("rwkv6");
  Problem problem = backward("rwkv6", {1, 4, 1, 2, 3}, "rwkv");
  problem.options["gate_input"] = "raw";
  HostTensors inputs = op.draw(problem);
  std::fill(inputs.at("w").begin(), inputs.at("w").end(), 100.0f);
  const ReferenceTensors exact = op.reference(problem, inputs);
  for (const double x : exact.at("dw")) EXPECT_EQ(x, 0.0);
  const HostTensors plain = op.baseline(problem, inputs, Arithmetic::float32);
  for (const float x : plain.at("dw")) EXPECT_EQ(x, 0.0f);
}

TEST(RecurrenceBackward, HasTheForwardsInputs) {
  for (const char* name : family) {
    const Operator& op = *find_operator(name);
    Problem problem = backward(name, {2, 9, 2, 4, 3}, op.gates.front());
    problem.initial_state = true;
    const HostTensors inputs = op.draw(problem);
    problem.direction = Direction::forward;
    for (const auto& [tensor, values] : op.draw(problem))
      EXPECT_EQ(inputs.at(tensor), values) << name << " " << tensor;
  }
}

TEST(RecurrenceBackward, PaddedTokensHaveNoGradient) {
  const Operator& op = *find_operator("linear_attention");
  Problem problem = backward("linear_attention", {1, 200, 1, 4, 3}, "none");
  problem.options["normalize"] = "true";
  const HostTensors inputs = op.draw(problem);
  int padded = 0;
  for (std::size_t t = 0; t < 200; ++t) {
    if (inputs.at("q")[4 * t] != 0.0f) continue;
    ++padded;
    for (std::size_t e = 0; e < 3; ++e) EXPECT_EQ(inputs.at("do")[3 * t + e], 0.0f);
  }
  EXPECT_GT(padded, 3);
}

TEST(RecurrenceBackward, TensorsAreTheForwardsAndTheirGradients) {
  Problem problem = backward("rwkv6", {1, 9, 2, 4, 3}, "rwkv");
  problem.dtype = DType::bfloat16;
  problem.initial_state = true;
  problem.options["state_dtype"] = "bfloat16";
  std::string names;
  for (const TensorSpec& spec : find_operator("rwkv6")->tensors(problem)) {
    names += spec.name + (spec.role == TensorSpec::Role::output ? "! " : " ");
    const bool wide = spec.name == "dw" || spec.name == "du";
    EXPECT_EQ(spec.dtype, wide ? DType::float32 : DType::bfloat16) << spec.name;
  }
  EXPECT_EQ(names, "q k v w u initial_state do dfinal_state dq! dk! dv! dw! du! dinitial_state! ");
}

TEST(RecurrenceBackward, GradientsOfATokensDecayAreRunningSums) {
  for (const char* name : {"gla", "simple_gla", "retention", "linear_attention"}) {
    Problem problem = backward(name, {1, 9, 2, 4, 3}, "none");
    problem.initial_state = true;
    for (const TensorSpec& spec : find_operator(name)->tensors(problem)) {
      if (spec.role == TensorSpec::Role::input) continue;
      EXPECT_EQ(spec.running_sum, spec.name == "dg") << name << " " << spec.name;
      EXPECT_EQ(spec.decays_alike, problem.op == "retention") << name << " " << spec.name;
      EXPECT_EQ(spec.alike, 1);
    }
  }
}

TEST(RecurrenceBackward, RefusesWhatHasNoGradients) {
  Problem problem = backward("retention", {1, 9, 2, 4, 3}, "mild");
  problem.initial_state = true;
  problem.options["in_place"] = "true";
  EXPECT_TRUE(find_operator("retention")->refuse(problem)->starts_with("in_place"));
  problem.options = {{"nan_sequence", "true"}};
  problem.shape.sequences = 3;
  EXPECT_TRUE(find_operator("retention")->refuse(problem)->starts_with("nan_sequence"));
  problem.op = "rwkv6";
  problem.gate = "rwkv";
  EXPECT_TRUE(find_operator("rwkv6")->refuse(problem)->starts_with("nan_sequence"));
  problem.op = "gla";
  EXPECT_EQ(find_operator("gla")->refuse(problem), std::nullopt);
}

// The error of the plain computation is that of its arithmetic.
TEST(RecurrenceBackward, PlainComputationErrsAsItsArithmetic) {
  for (const char* name : family) {
    const Operator& op = *find_operator(name);
    Problem problem = backward(name, {1, 150, 3, 32, 24}, op.gates.front());
    problem.initial_state = true;
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors exact = op.reference(problem, inputs);
    const auto error = [&](Arithmetic arithmetic) {
      double most = 0;
      for (const auto& [tensor, values] : op.baseline(problem, inputs, arithmetic))
        most =
            std::max(most, relative_difference({values.begin(), values.end()}, exact.at(tensor)));
      return most;
    };
    EXPECT_LT(error(Arithmetic::float32), 5e-6) << name;
    EXPECT_GT(error(Arithmetic::tf32), 2e-4) << name;
    EXPECT_GT(error(Arithmetic::bfloat16), 2e-3) << name;
    EXPECT_LT(error(Arithmetic::bfloat16), 4e-2) << name;
  }
}

}  // namespace
}  // namespace gla_bench
