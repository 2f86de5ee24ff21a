// Ragged batches of attention: each sequence is attention by itself, with its own queries and keys.

#include <gtest/gtest.h>

#include <cmath>

#include "core/operator.hpp"
#include "reference/attention/ragged.hpp"
#include "tests/support/distance.hpp"

namespace gla_bench {
namespace {

Problem ragged_attention(const std::string& op, Direction direction, std::int64_t sequences) {
  Problem problem;
  problem.op = op;
  problem.direction = direction;
  problem.shape = {1, 90, 4, 6, 5, 110, 2};
  problem.shape.sequences = sequences;
  problem.gate = find_operator(op)->gates.front();
  problem.seed = 3;
  if (direction == Direction::forward) problem.options["lse"] = "true";
  return problem;
}

std::vector<Problem> ragged_attentions(std::int64_t sequences) {
  std::vector<Problem> list;
  for (const char* op : {"attention", "decay_attention"})
    for (const Direction direction : {Direction::forward, Direction::backward})
      for (const char* lengths : {"uniform", "skewed"}) {
        list.push_back(ragged_attention(op, direction, sequences));
        list.back().options["lengths"] = lengths;
        list.push_back(list.back());
        list.back().options[op == std::string("attention") ? "causal" : "decay"] =
            op == std::string("attention") ? "false" : "constant";
      }
  return list;
}

// The rows [begin, end) of each token tensor.
std::vector<float> rows_of(const std::vector<float>& values, std::int64_t tokens, float begin,
                           float end) {
  const std::int64_t row = static_cast<std::int64_t>(values.size()) / tokens;
  return {values.begin() + static_cast<std::int64_t>(begin) * row,
          values.begin() + static_cast<std::int64_t>(end) * row};
}

TEST(RaggedAttention, IsEachSequenceByItself) {
  for (const Problem& problem : ragged_attentions(7)) {
    const Operator& op = *find_operator(problem.op);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors whole = op.reference(problem, inputs);
    const std::vector<float>&queries = inputs.at("cu_seqlens"), &keys = inputs.at("cu_seqlens_k");
    std::map<std::string, std::vector<double>> parts;
    for (std::size_t n = 0; n + 1 < queries.size(); ++n) {
      const float lengths[2] = {queries[n + 1] - queries[n], keys[n + 1] - keys[n]};
      if (lengths[0] == 0 || lengths[1] == 0) continue;
      Problem one = problem;
      one.shape.sequences = 0;
      one.options.erase("lengths");
      one.shape.seq = static_cast<std::int64_t>(lengths[0]);
      one.shape.key_seq = static_cast<std::int64_t>(lengths[1]);
      HostTensors its;
      for (const TensorSpec& spec : op.tensors(problem)) {
        if (spec.role != TensorSpec::Role::input) continue;
        const bool of_keys = spec.extents[1 % spec.extents.size()] == problem.shape.key_seq;
        const std::vector<float>& ends = of_keys ? keys : queries;
        its[spec.name] = spec.tokens
                             ? rows_of(inputs.at(spec.name), spec.extents[1], ends[n], ends[n + 1])
                             : inputs.at(spec.name);
      }
      for (const TensorSpec& spec : op.tensors(problem)) {
        if (spec.role != TensorSpec::Role::output || !spec.tokens) continue;
        const std::vector<float>& ends = spec.extents[1] == problem.shape.key_seq ? keys : queries;
        const std::vector<double> expected = op.reference(one, its).at(spec.name);
        const auto row = spec.elements() / spec.extents[1];
        const auto first = whole.at(spec.name).begin() + static_cast<std::int64_t>(ends[n]) * row;
        EXPECT_EQ(std::vector<double>(first, first + static_cast<std::int64_t>(expected.size())),
                  expected)
            << spec.name << " of sequence " << n << " of " << describe(problem);
      }
    }
  }
}

TEST(RaggedAttention, OfNoKeysIsNothingAndTheSecondFormAgrees) {
  for (const std::int64_t sequences : {3, 40})
    for (Problem problem : ragged_attentions(sequences)) {
      problem.options["nan_sequence"] = "true";
      const Operator& op = *find_operator(problem.op);
      ASSERT_EQ(op.refuse(problem), std::nullopt);
      const HostTensors inputs = op.draw(problem);
      const ReferenceTensors first = op.reference(problem, inputs);
      const ReferenceTensors second = op.second_form(problem, inputs);
      for (const auto& [name, values] : first) {
        EXPECT_LE(distance(values, second.at(name)), 1e-9) << name << " of " << describe(problem);
        EXPECT_FALSE(has_nan(values)) << name << " of " << describe(problem);
      }
      EXPECT_TRUE(std::any_of(inputs.at("k").begin(), inputs.at("k").end(),
                              [](float x) { return std::isnan(x); }) ||
                  std::any_of(inputs.at("q").begin(), inputs.at("q").end(),
                              [](float x) { return std::isnan(x); }))
          << describe(problem);
      std::int64_t query = 0;
      for (const attention::Lengths& one : attention::lengths(problem)) {
        const std::int64_t row = problem.shape.heads;
        for (std::int64_t i = query * row;
             one.keys == 0 && first.contains("lse") && i < (query + one.queries) * row; ++i)
          EXPECT_EQ(first.at("lse")[static_cast<std::size_t>(i)], -INFINITY);
        query += one.queries;
      }
      EXPECT_EQ(query, problem.shape.seq);
    }
}

TEST(RaggedAttention, IsRefusedWhereItMeansNothing) {
  const Operator& op = *find_operator("attention");
  Problem problem = ragged_attention("attention", Direction::forward, 5);
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.shape.batch = 2;
  EXPECT_TRUE(op.refuse(problem)->ends_with("batch must be 1"));
  problem.shape.batch = 1;
  problem.options["nan_sequence"] = "true";
  problem.shape.sequences = 2;
  EXPECT_TRUE(op.refuse(problem)->starts_with("nan_sequence needs at least three"));
  problem.shape.sequences = 5;
  problem.shape.key_seq = 0;
  EXPECT_TRUE(op.refuse(problem)->starts_with("nan_sequence is of a sequence without queries"));
  problem.options = {{"lengths", "skewed"}};
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.shape.sequences = 0;
  EXPECT_TRUE(op.refuse(problem)->starts_with("lengths are of ragged sequences"));
}

}  // namespace
}  // namespace gla_bench
