#include "harness/tensor_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/error.hpp"
#include "harness/safetensors.hpp"
#include "harness/staging.hpp"
#include "tests/harness/temporary_folder.hpp"

namespace gla_bench {
namespace {

const Operator& gla() {
  return *find_operator("gla");
}

Problem drawn_problem(Layout layout) {
  Problem problem;
  problem.op = "gla";
  problem.dtype = DType::bfloat16;
  problem.layout = layout;
  problem.shape = {2, 5, 3, 4, 6};
  problem.gate = "resets";
  problem.initial_state = true;
  return problem;
}

// The drawn inputs of a problem as they stand in a file of its layout.
std::vector<SafetensorsTensor> stored_inputs(const Problem& problem) {
  const HostTensors inputs = gla().draw(problem);
  std::vector<SafetensorsTensor> tensors;
  for (const TensorSpec& spec : gla().tensors(problem))
    if (spec.role == TensorSpec::Role::input)
      tensors.push_back({spec.name, spec.dtype, storage_extents(spec, problem.layout),
                         to_storage_order(spec, problem.layout, inputs.at(spec.name))});
  return tensors;
}

SafetensorsTensor& by_name(std::vector<SafetensorsTensor>& tensors, const std::string& wanted) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [&](const SafetensorsTensor& tensor) { return tensor.name == wanted; });
}

Problem wanted_from(const std::string& path, Layout layout) {
  Problem wanted;
  wanted.op = "gla";
  wanted.layout = layout;
  wanted.tensors = path;
  return wanted;
}

class TensorFile : public testing::Test {
 protected:
  // The message of the InputError that these tensors lead to, from the header or the values.
  std::string complaint(const std::vector<SafetensorsTensor>& tensors,
                        const std::map<std::string, std::string>& names = {}) {
    write_safetensors(path_, tensors);
    Problem wanted = wanted_from(path_, Layout::seq_first);
    wanted.tensor_names = names;
    try {
      read_inputs(gla(), problem_from_file(wanted));
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path_), 0U) << message;
      return message.substr(std::min(message.size(), path_.size() + 2));
    }
    return "accepted";
  }

  void expect_complaint(const std::vector<SafetensorsTensor>& tensors, const std::string& part) {
    const std::string message = complaint(tensors);
    EXPECT_NE(message.find(part), std::string::npos) << "message: " << message;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("in.safetensors");
  std::vector<SafetensorsTensor> tensors_ = stored_inputs(drawn_problem(Layout::seq_first));
};

TEST_F(TensorFile, GivesBackWhatWasDrawnInBothLayouts) {
  for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
    const Problem drawn = drawn_problem(layout);
    write_safetensors(path_, stored_inputs(drawn));
    const Problem problem = problem_from_file(wanted_from(path_, layout));
    EXPECT_EQ(problem.shape, drawn.shape);
    EXPECT_EQ(problem.dtype, drawn.dtype);
    EXPECT_EQ(problem.gate, "file");
    EXPECT_TRUE(problem.initial_state);
    EXPECT_EQ(inputs_of(gla(), problem), gla().draw(drawn));
  }
}

TEST_F(TensorFile, FollowsTheNamesGiven) {
  by_name(tensors_, "q").name = "layers.0.q";
  by_name(tensors_, "initial_state").name = "h0";
  write_safetensors(path_, tensors_);
  Problem wanted = wanted_from(path_, Layout::seq_first);
  wanted.tensor_names = {{"q", "layers.0.q"}};
  EXPECT_FALSE(problem_from_file(wanted).initial_state);  // "h0" is not asked for
  wanted.tensor_names["initial_state"] = "h0";
  const Problem problem = problem_from_file(wanted);
  EXPECT_TRUE(problem.initial_state);
  EXPECT_EQ(read_inputs(gla(), problem), gla().draw(drawn_problem(Layout::seq_first)));
}

TEST_F(TensorFile, NamesWhatIsMissing) {
  EXPECT_NE(complaint(tensors_, {{"k", "keys"}})
                .find("tensor 'keys' (k) is missing; the file has initial_state, g, k, q, v"),
            std::string::npos);
  EXPECT_NE(complaint(tensors_, {{"initial_state", "h0"}}).find("tensor 'h0' (initial_state)"),
            std::string::npos);
  EXPECT_NE(complaint(tensors_, {{"query", "q"}}).find("'query' is no input of gla"),
            std::string::npos);
  std::erase_if(tensors_, [](const SafetensorsTensor& tensor) { return tensor.name == "g"; });
  expect_complaint(tensors_, "tensor 'g' is missing");
}

TEST_F(TensorFile, RefusesWrongShapes) {
  std::vector<SafetensorsTensor> tensors = tensors_;
  by_name(tensors, "k").shape = {2, 3, 5, 4};
  expect_complaint(tensors, "tensor 'k' is BF16 [2, 3, 5, 4]; expected bfloat16 [2, 5, 3, 4]");
  tensors = tensors_;
  by_name(tensors, "v").shape = {2, 5, 18};
  expect_complaint(tensors, "tensor 'v' is BF16 [2, 5, 18]; expected four axes, [B, T, H, V]");
  tensors = tensors_;
  by_name(tensors, "initial_state").shape = {2, 3, 6, 4};
  expect_complaint(tensors,
                   "tensor 'initial_state' is F32 [2, 3, 6, 4]; expected float32 [2, 3, 4, 6]");
  tensors = tensors_;
  by_name(tensors, "q").shape = {2, 0, 3, 4};
  by_name(tensors, "q").values.clear();
  expect_complaint(tensors, "expected no empty axis");
  tensors = tensors_;
  by_name(tensors, "v").shape = {1, 1, 1, 513};
  by_name(tensors, "v").values.assign(513, 0.0F);
  expect_complaint(tensors, "expected V from 1 to 512");
}

TEST_F(TensorFile, RefusesWrongDtypes) {
  std::vector<SafetensorsTensor> tensors = tensors_;
  by_name(tensors, "g").dtype = DType::float32;
  expect_complaint(tensors, "tensor 'g' is F32 [2, 5, 3, 4]; expected bfloat16");
  tensors = tensors_;
  by_name(tensors, "initial_state").dtype = DType::bfloat16;
  expect_complaint(tensors, "tensor 'initial_state' is BF16");
}

TEST_F(TensorFile, RefusesValuesByIndex) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<SafetensorsTensor> tensors = tensors_;
  by_name(tensors, "g").values[((1 * 5 + 2) * 3 + 1) * 4 + 3] = 0.5F;
  expect_complaint(tensors, "tensor 'g': element [1, 2, 1, 3] is 0.5");
  tensors = tensors_;
  by_name(tensors, "g").values[0] = nan;
  expect_complaint(tensors, "tensor 'g': element [0, 0, 0, 0] is nan");
  for (const std::string input : {"q", "k", "v", "initial_state"})
    for (const float value : {nan, INFINITY}) {
      tensors = tensors_;
      by_name(tensors, input).values.back() = value;
      expect_complaint(tensors, "tensor '" + input + "': element [1, ");
    }
}

TEST_F(TensorFile, NoticesAFileThatWasReplaced) {
  write_safetensors(path_, tensors_);
  Problem problem = problem_from_file(wanted_from(path_, Layout::seq_first));
  problem.shape.seq = 4;
  EXPECT_THROW(read_inputs(gla(), problem), InputError);
}

TEST_F(TensorFile, DrawsWhereNoFileIsNamed) {
  const Problem problem = drawn_problem(Layout::seq_first);
  EXPECT_EQ(inputs_of(gla(), problem), gla().draw(problem));
}

}  // namespace
}  // namespace gla_bench
