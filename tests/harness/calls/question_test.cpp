#include "harness/calls/question.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace gla_bench::calls {
namespace {

Problem small_problem(const std::string& op, Direction direction = Direction::forward) {
  Problem problem;
  problem.op = op;
  problem.direction = direction;
  problem.shape = {2, 5, 3, 4, 6};
  if (op == "softmax") problem.shape = Shape{.batch = 2, .seq = 1, .columns = 7};
  problem.gate = "file";
  return problem;
}

/// All tensors of a problem, as its memory has them.
Question question_of(const Problem& problem) {
  Question question{problem.op, problem.direction, {}, problem.scale, {}};
  for (const TensorSpec& spec : find_operator(problem.op)->tensors(problem))
    question.tensors[spec.name] = {"the " + spec.name, spec.dtype, spec.extents,
                                   strides_of(spec, problem.layout)};
  return question;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_error(const Question& question, const std::string& part) {
  const std::string error = error_of([&] { problem_of(question); });
  EXPECT_NE(error.find(part), std::string::npos) << error << "\nexpected: " << part;
}

TEST(Question, EveryOperatorIsReadOffItsTensors) {
  for (const Operator& op : operators()) {
    if (op.name == "gla_layer") continue;
    for (const Direction direction : op.directions)
      for (const DType dtype : problem_dtypes) {
        Problem problem = small_problem(op.name, direction);
        problem.dtype = dtype;
        if (op.name == "softmax" || op.name.ends_with("attention")) problem.final_state = false;
        const Problem found = problem_of(question_of(problem));
        EXPECT_EQ(describe(found), describe(problem));
        EXPECT_EQ(found.shape, problem.shape) << op.name;
        EXPECT_EQ(found.options, problem.options) << op.name;
      }
  }
}

TEST(Question, MemoryTellsLayoutAndOptions) {
  Problem problem = small_problem("gla");
  problem.initial_state = true;
  problem.dtype = DType::bfloat16;
  for (const Layout layout : {Layout::seq_first, Layout::head_first})
    for (const char* gates : {"same", "float32"})
      for (const char* order : {"key_first", "value_first"})
        for (const char* states : {"float32", "bfloat16"}) {
          problem.layout = layout;
          problem.options.clear();
          if (gates != std::string("same")) problem.options["gate_dtype"] = gates;
          if (order != std::string("key_first")) problem.options["state_layout"] = order;
          if (states != std::string("float32")) problem.options["state_dtype"] = states;
          EXPECT_EQ(problem_of(question_of(problem)), problem);
        }
}

TEST(Question, SlicesOfAProjectionArePacked) {
  Problem problem = small_problem("gla");
  problem.options["packed"] = "true";
  EXPECT_EQ(problem_of(question_of(problem)), problem);
  Question question = question_of(problem);
  question.tensors["k"].strides[1] += 1;
  expect_error(question, "the k is float32 [2, 5, 3, 4]");
}

TEST(Question, RaggedSequencesAndFewerKeyHeads) {
  Problem ragged = small_problem("simple_gla");
  ragged.shape.batch = 1;
  ragged.shape.sequences = 3;
  EXPECT_EQ(problem_of(question_of(ragged)), ragged);
  Problem grouped = small_problem("attention");
  grouped.final_state = false;
  grouped.shape.heads = 4;
  grouped.shape.key_heads = 2;
  grouped.shape.key_seq = 9;
  EXPECT_EQ(problem_of(question_of(grouped)), grouped);
}

TEST(Question, AxesOfOneElementMayHaveAnyStride) {
  Problem problem = small_problem("gla");
  problem.shape.batch = 1;
  problem.shape.heads = 1;
  Question question = question_of(problem);
  for (const char* name : {"q", "k", "v", "g", "o"}) {
    question.tensors[name].strides[0] = 1000;
    question.tensors[name].strides[2] = 77;
  }
  EXPECT_EQ(problem_of(question), problem);
}

TEST(Question, WhatIsWrongIsNamed) {
  const Question right = question_of(small_problem("gla"));
  Question wrong = right;
  wrong.tensors["k"].dtype = DType::float16;
  EXPECT_THROW(problem_of(wrong), DtypeError);
  expect_error(wrong,
               "the k is float16 [2, 5, 3, 4] with strides [60, 12, 4, 1]; expected float32");
  wrong = right;
  wrong.tensors["v"].extents[1] = 4;
  expect_error(wrong, "the v is float32 [2, 4, 3, 6]");
  wrong = right;
  wrong.tensors["v"].strides = {90, 6, 30, 1};
  expect_error(wrong, "expected the strides [90, 18, 6, 1] of seq_first memory");
  wrong = right;
  wrong.tensors.erase("g");
  expect_error(wrong, "there is no tensor 'g', which gla has");
  wrong = right;
  wrong.op = "gle";
  expect_error(wrong, "found the operator 'gle', expected one of");
  wrong = right;
  wrong.options["width"] = "1";
  expect_error(wrong, "found the option 'width', expected one of");
  wrong = right;
  wrong.options["packed"] = "perhaps";
  expect_error(wrong, "found packed='perhaps', expected false or true");
  Problem wide = small_problem("gla");
  wide.shape.key_dim = 600;
  expect_error(question_of(wide), "found key_dim=600, expected at most 512");
}

TEST(Question, WhatTheOperatorRefusesIsSaidInItsWords) {
  Problem grouped = small_problem("attention");
  grouped.final_state = false;
  grouped.shape.key_heads = 2;
  expect_error(question_of(grouped), "heads is not a multiple of key_heads");
  Question training = question_of(small_problem("softmax"));
  training.direction = Direction::training;
  EXPECT_THROW(problem_of(training), NoSuchDirection);
}

}  // namespace
}  // namespace gla_bench::calls
