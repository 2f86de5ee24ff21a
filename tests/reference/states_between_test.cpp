// The option states_every: states after every N tokens of a sequence, which are outputs.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/operator.hpp"
#include "tests/reference/recurrence_problems.hpp"

namespace gla_bench {
namespace {

Problem with_states(const char* op, const Shape& shape, const char* every) {
  Problem problem = gla(shape, default_gate(*find_operator(op)));
  problem.op = op;
  problem.initial_state = true;
  problem.options["states_every"] = every;
  return problem;
}

/// The first `tokens` tokens of a problem with batch 1, as a problem without states between.
ReferenceTensors prefix(Problem problem, HostTensors inputs, std::int64_t tokens) {
  const Operator& op = *find_operator(problem.op);
  problem.options.erase("states_every");
  problem.shape.seq = tokens;
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.tokens && spec.role == TensorSpec::Role::input)
      inputs.at(spec.name).resize(static_cast<std::size_t>(spec.elements()));
  return op.reference(problem, inputs);
}

std::vector<double> part(const std::vector<double>& all, std::int64_t number, std::size_t size) {
  const auto first = all.begin() + number * static_cast<std::int64_t>(size);
  return {first, first + static_cast<std::int64_t>(size)};
}

TEST(StatesBetween, AreTheFinalStatesOfPrefixes) {
  for (const char* name : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"}) {
    Problem problem = with_states(name, {1, 53, 3, 4, 5}, "16");
    const bool normalize = name == std::string("linear_attention");
    if (normalize) problem.options["normalize"] = "true";
    const Operator& op = *find_operator(name);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors all = op.reference(problem, inputs);
    ASSERT_EQ(all.at("states").size(), 3u * 3 * 4 * 5);
    for (std::int64_t i = 0; i < 3; ++i) {
      const ReferenceTensors some = prefix(problem, inputs, 16 * (i + 1));
      EXPECT_EQ(part(all.at("states"), i, 3 * 4 * 5), some.at("final_state")) << name;
      if (normalize) {
        EXPECT_EQ(part(all.at("normalizers"), i, 3 * 4), some.at("final_normalizer"));
      }
    }
  }
}

TEST(StatesBetween, OfRaggedSequencesHavePlacesByWhereTheyBegin) {
  Problem problem = with_states("gla", {1, 70, 2, 3, 4}, "16");
  problem.shape.sequences = 4;
  const Operator& op = *find_operator("gla");
  HostTensors inputs = op.draw(problem);
  inputs.at("cu_seqlens") = {0, 20, 30, 30, 70};
  const ReferenceTensors all = op.reference(problem, inputs);
  const std::size_t size = 2 * 3 * 4;
  ASSERT_EQ(all.at("states").size(), 4 * size);
  Problem alone = with_states("gla", {1, 40, 2, 3, 4}, "16");
  HostTensors last = inputs;
  last.erase("cu_seqlens");
  for (const char* name : {"q", "k", "v", "g"}) {
    std::vector<float>& values = last.at(name);
    values.erase(values.begin(), values.begin() + static_cast<std::int64_t>(values.size()) / 7 * 3);
  }
  last.at("initial_state")
      .erase(last.at("initial_state").begin(),
             last.at("initial_state").end() - static_cast<std::int64_t>(size));
  // Tokens 30 to 69 have the places 1, 2 and 3. The last of them is of the sequence's last state.
  const ReferenceTensors own = op.reference(alone, last);
  for (std::int64_t i = 0; i < 2; ++i)
    EXPECT_EQ(part(all.at("states"), 1 + i, size), part(own.at("states"), i, size));
  EXPECT_EQ(part(all.at("states"), 3, size), part(all.at("final_state"), 3, size));
  const ReferenceTensors second = op.second_form(problem, inputs);
  EXPECT_LE(relative_difference(all.at("states"), second.at("states")), 1e-12);
}

TEST(StatesBetween, AreTensorsWithBytesAndExistOfTheForwardAlone) {
  Problem problem = with_states("linear_attention", {2, 100, 3, 4, 5}, "48");
  problem.options["normalize"] = "true";
  problem.options["state_dtype"] = "bfloat16";
  const Operator& op = *find_operator(problem.op);
  Problem without = problem;
  without.options.erase("states_every");
  EXPECT_EQ(op.work(problem).floor_bytes - op.work(without).floor_bytes,
            2 * 2 * 3 * (4 * 5 * 2 + 4 * 4));
  EXPECT_EQ(op.work(problem).flops, op.work(without).flops);
  const auto names = [&](const Problem& p) {
    std::vector<std::string> list;
    for (const TensorSpec& spec : op.tensors(p)) list.push_back(spec.name);
    return list;
  };
  EXPECT_NE(names(problem), names(without));
  problem.options["states_every"] = "128";  // no sequence is as long
  EXPECT_EQ(names(problem), names(without));
  problem.direction = Direction::backward;
  EXPECT_NE(op.refuse(problem).value_or("").find("states_every"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
