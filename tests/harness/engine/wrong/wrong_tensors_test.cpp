#include "harness/engine/wrong/wrong_tensors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/measure/checks.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/tensor_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

Problem problem(Layout layout) {
  Problem p;
  p.op = "gla";
  p.layout = layout;
  p.shape = {2, 130, 3, 8, 4};
  p.initial_state = true;
  return p;
}

// What the reference says, with one chunk of one head off by half.
HostTensors wrong_outputs(const ProblemTruth& truth) {
  HostTensors outputs;
  for (const auto& [name, values] : truth.expected())
    outputs[name].assign(values.begin(), values.end());
  for (std::int64_t t = 64; t < 130; ++t)
    for (std::int64_t v = 0; v < 4; ++v)
      outputs["o"][static_cast<std::size_t>(((130 + t) * 3 + 2) * 4 + v)] *= 1.5f;
  return outputs;
}

Record record_of(ProblemTruth& truth, const HostTensors& outputs) {
  Record r;
  r.problem = truth.problem();
  r.variant = "chunk_fused";
  r.verification = judge(truth, outputs, Arithmetic::float32, default_tolerance());
  return r;
}

TEST(WrongTensors, HoldWhatWasJudgedAndWhereItDiffers) {
  const TemporaryFolder folder;
  const Operator& op = *find_operator("gla");
  for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
    ProblemTruth truth(op, problem(layout), op.draw(problem(layout)));
    const HostTensors outputs = wrong_outputs(truth);
    const Record record = record_of(truth, outputs);
    EXPECT_EQ(record.verification->check, check::rel_l2);
    const auto path = write_wrong_tensors({folder.file("made/of/folders")}, record, truth, outputs);
    ASSERT_TRUE(path);
    const SafetensorsFile file(*path);
    EXPECT_EQ(file.metadata().at("check"), "rel_l2");
    EXPECT_EQ(file.metadata().at("fault"), record.verification->fault);
    EXPECT_NE(file.metadata().at("diff.o").find("worst at [1,"), std::string::npos);
    EXPECT_EQ(file.metadata().at("command").substr(0, 16), "gla-bench repeat");
    ASSERT_NE(file.find("o.error"), nullptr);
    EXPECT_EQ(file.find("o.error")->shape, (std::vector<std::int64_t>{2, 3, 2}));
    const auto errors = file.read(*file.find("o.error"));
    for (std::size_t i = 0; i < errors.size(); ++i)  // sequence 1, head 2, chunk 1
      EXPECT_EQ(errors[i] > 0.1f, i == (1 * 3 + 2) * 2 + 1) << i;
    for (const char* name : {"q", "k", "v", "g", "initial_state", "o", "final_state", "o.reference",
                             "final_state.reference", "final_state.error"})
      EXPECT_NE(file.find(name), nullptr) << name;
    Problem again = problem(layout);
    again.tensors = *path;
    EXPECT_EQ(read_inputs(op, problem_from_file(op, again)), truth.inputs());
  }
}

TEST(WrongTensors, AreNotWrittenWhereNobodyAsksOrTheyAreTooLarge) {
  const TemporaryFolder folder;
  const Operator& op = *find_operator("gla");
  ProblemTruth truth(op, problem(Layout::seq_first), op.draw(problem(Layout::seq_first)));
  const HostTensors outputs = wrong_outputs(truth);
  const Record record = record_of(truth, outputs);
  EXPECT_FALSE(write_wrong_tensors({}, record, truth, outputs));
  KeepWrong policy{folder.file("here"), 0.01};
  EXPECT_GT(wrong_tensors_bytes(truth), 0.01 * 0x1p20);
  EXPECT_FALSE(write_wrong_tensors(policy, record, truth, outputs));
  policy.most_mib = 1;
  EXPECT_TRUE(write_wrong_tensors(policy, record, truth, outputs));
}

TEST(WrongTensors, NamesTellRowsApart) {
  Record a;
  a.problem = problem(Layout::seq_first);
  a.variant = "recurrent";
  Record b = a;
  b.problem.seed = 2;
  EXPECT_NE(wrong_tensors_name(a), wrong_tensors_name(b));
  EXPECT_EQ(wrong_tensors_name(a).substr(0, 22), "gla-recurrent-float32-");
}

}  // namespace
}  // namespace gla_bench
