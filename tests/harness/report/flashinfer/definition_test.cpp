#include "harness/report/flashinfer/definition.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace gla_bench::flashinfer {
namespace {

Problem defined_problem(const std::string& op) {
  Problem problem;
  problem.op = op;
  problem.dtype = DType::bfloat16;
  problem.shape.batch = 2;
  problem.shape.seq = 100;
  problem.shape.heads = 4;
  return problem;
}

using Names = std::vector<std::string>;

TEST(FlashinferDefinition, NamesTheAxesAlsoWhereExtentsAreTheSame) {
  Problem problem = defined_problem("gla");
  problem.shape.seq = 2;     // as the batch
  problem.shape.heads = 64;  // as a head's keys and values
  const Operator& op = *find_operator("gla");
  EXPECT_EQ(axis_names(op, problem, "q"), (Names{"batch", "seq", "heads", "key_dim"}));
  EXPECT_EQ(axis_names(op, problem, "v"), (Names{"batch", "seq", "heads", "value_dim"}));
  EXPECT_EQ(axis_names(op, problem, "final_state"),
            (Names{"batch", "heads", "key_dim", "value_dim"}));
  EXPECT_THROW(axis_names(op, problem, "nothing"), InputError);
}

TEST(FlashinferDefinition, IsSharedByProblemsThatDifferInSizesAlone) {
  const Operator& op = *find_operator("gla");
  Problem one = defined_problem("gla"), other = one;
  other.shape.seq = 7;
  other.gate = "strong";
  EXPECT_EQ(definition_name(op, one), "gla_forward_bfloat16_key_dim64_value_dim64");
  EXPECT_EQ(definition_of(op, one), definition_of(op, other));
  EXPECT_NE(workload_uuid(one), workload_uuid(other));
  other.initial_state = true;
  EXPECT_NE(definition_name(op, one), definition_name(op, other));
}

TEST(FlashinferDefinition, HasTheOutputsAndTheScale) {
  const Json json = definition_of(*find_operator("rwkv6"), defined_problem("rwkv6"));
  EXPECT_EQ(json["inputs"]["scale"]["shape"], nullptr);
  EXPECT_EQ(json["inputs"]["u"]["shape"], (Json{"heads", "key_dim"}));
  EXPECT_EQ(json["outputs"]["final_state"]["dtype"], "float32");
  EXPECT_EQ(json["axes"]["key_dim"]["value"], 64);
  EXPECT_EQ(json["axes"]["seq"]["type"], "var");
}

TEST(FlashinferDefinition, CarriesGatesAndDrawsTheRest) {
  EXPECT_EQ(carried_inputs(*find_operator("gla"), defined_problem("gla")), Names{"g"});
  Problem attention = defined_problem("attention");
  attention.gate = "normal";
  // What a regime makes of the logits lies in the keys.
  EXPECT_EQ(carried_inputs(*find_operator("attention"), attention), Names{"k"});
  attention.gate = "peaked";
  EXPECT_EQ(carried_inputs(*find_operator("attention"), attention), (Names{"q", "k", "v"}));
  const Json workload = workload_of(*find_operator("gla"), defined_problem("gla"), "blob/x");
  EXPECT_EQ(workload["inputs"]["g"]["path"], "blob/x");
  EXPECT_EQ(workload["inputs"]["q"]["type"], "random");
  EXPECT_EQ(workload["axes"], (Json{{"batch", 2}, {"heads", 4}, {"seq", 100}}));
}

TEST(FlashinferDefinition, IsRefusedWhereThereIsNoReference) {
  Problem problem = defined_problem("gla");
  EXPECT_EQ(why_not_defined(problem), std::nullopt);
  problem.options["in_place"] = "true";
  EXPECT_NE(why_not_defined(problem), std::nullopt);
  EXPECT_THROW(reference_text(*find_operator("gla"), problem), InputError);
  for (const char* op : {"gla_layer", "decay_attention"})
    EXPECT_NE(why_not_defined(defined_problem(op)), std::nullopt) << op;
}

}  // namespace
}  // namespace gla_bench::flashinfer
