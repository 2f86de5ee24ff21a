#include "harness/tensors/tensor_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/staging.hpp"
#include "tests/support/temporary_folder.hpp"

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
  const Operator& op = *find_operator(problem.op);
  const HostTensors inputs = op.draw(problem);
  std::vector<SafetensorsTensor> tensors;
  for (const TensorSpec& spec : op.tensors(problem))
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
  expect_complaint(tensors, ", or float32 with option gate_dtype=float32 (layout");
  by_name(tensors, "g").dtype = DType::float16;  // no option gives that
  expect_complaint(tensors, "as the tensors before it say (layout");
  tensors = tensors_;
  by_name(tensors, "initial_state").dtype = DType::bfloat16;
  expect_complaint(tensors, "tensor 'initial_state' is BF16");
}

TEST_F(TensorFile, TakesGatesInFloat32BesideSixteenBits) {
  Problem drawn = drawn_problem(Layout::seq_first);
  drawn.options = {{"gate_dtype", "float32"}, {"packed", "true"}};
  write_safetensors(path_, stored_inputs(drawn));  // files have no gaps
  Problem wanted = wanted_from(path_, Layout::seq_first);
  wanted.options = drawn.options;
  const Problem problem = problem_from_file(wanted);
  EXPECT_EQ(problem.dtype, DType::bfloat16);
  EXPECT_EQ(problem.shape, drawn.shape);
  EXPECT_EQ(read_inputs(gla(), problem), gla().draw(drawn));
  wanted.layout = Layout::head_first;
  EXPECT_THROW(problem_from_file(wanted), InputError);
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

// What a file cannot say of a problem is asked for; the rest has to come back from it.
Problem asked(const Problem& problem, const std::string& path) {
  Problem wanted;
  wanted.op = problem.op;
  wanted.direction = problem.direction;
  wanted.layout = problem.layout;
  wanted.options = problem.options;
  wanted.tensors = path;
  return wanted;
}

void expect_back(const Problem& drawn, const std::string& path) {
  const Operator& op = *find_operator(drawn.op);
  write_safetensors(path, stored_inputs(drawn));
  const Problem problem = problem_from_file(asked(drawn, path));
  EXPECT_EQ(problem.shape, drawn.shape) << describe(drawn) << " came back as " << describe(problem);
  EXPECT_EQ(problem.dtype, drawn.dtype) << describe(drawn);
  EXPECT_EQ(problem.initial_state, drawn.initial_state) << describe(drawn);
  EXPECT_EQ(inputs_of(op, problem), op.draw(drawn)) << describe(drawn);
}

// A small problem of an operator with every extent it must have.
Problem small(const Operator& op) {
  Problem problem;
  problem.op = op.name;
  problem.dtype = DType::float16;
  problem.gate = op.gates.empty() ? "none" : op.gates.front();
  problem.shape = {2, 7, 3, 4, 5};
  const auto has = [&](const char* extent) {
    return std::find(op.extents.begin(), op.extents.end(), extent) != op.extents.end();
  };
  if (has("columns")) {
    problem.shape = {};
    problem.shape.batch = 6;
    problem.shape.columns = 11;
  }
  if (has("model_dim")) problem.shape.model_dim = 20;
  // Extents that only one operator has, each another number.
  std::int64_t other = 3;
  for (const std::string& extent : op.extents)
    if (std::int64_t& value = problem.shape.*extent_axis(extent).extent; value == 0)
      value = other++;
  return problem;
}

TEST_F(TensorFile, GivesBackEveryOperatorWithEveryOption) {
  for (const Operator& op : operators())
    for (const Direction direction : op.directions)
      for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
        Problem problem = small(op);
        problem.direction = direction;
        problem.layout = layout;
        Problem with_state = problem;
        with_state.initial_state = true;
        for (const TensorSpec& spec : op.tensors(with_state))
          if (spec.name == "initial_state") problem.initial_state = true;
        if (op.refuse && op.refuse(problem)) continue;  // no such layout
        expect_back(problem, path_);
        for (const OptionAxis& axis : op.options)
          for (const std::string& value : axis.values) {
            problem.options.clear();
            if (value != axis.values.front()) problem.options[axis.name] = value;
            Problem of_file = problem;
            of_file.gate = "file";
            if (!op.refuse || !op.refuse(of_file)) expect_back(problem, path_);
          }
      }
}

TEST_F(TensorFile, SaysThatPagedKeysAreDrawn) {
  for (const char* name : {"attention", "decay_attention"}) {
    Problem problem = small(*find_operator(name));
    problem.options["page_size"] = "16";
    write_safetensors(path_, stored_inputs(problem));
    Problem wanted = wanted_from(path_, Layout::seq_first);
    wanted.op = name;
    wanted.options = problem.options;
    try {
      problem_from_file(wanted);
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("page_size: paged inputs are drawn"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST_F(TensorFile, GivesBackRaggedSequences) {
  for (const char* name : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"}) {
    Problem problem = small(*find_operator(name));
    problem.shape.batch = 1;
    for (const std::int64_t sequences : {1, 9}) {
      problem.shape.sequences = sequences;
      expect_back(problem, path_);
      problem.initial_state = true;
      expect_back(problem, path_);
    }
  }
}

TEST_F(TensorFile, GivesBackRaggedQueriesAndKeys) {
  for (const char* name : {"attention", "decay_attention"}) {
    Problem problem = small(*find_operator(name));
    problem.shape.batch = 1;
    problem.shape.sequences = 4;
    for (const std::int64_t keys : {0, 9}) {
      problem.shape.key_seq = keys;
      expect_back(problem, path_);
    }
    tensors_ = stored_inputs(problem);
    by_name(tensors_, "cu_seqlens_k").values = {0, 1, 2, 3, 8};
    write_safetensors(path_, tensors_);
    Problem wanted = wanted_from(path_, Layout::seq_first);
    wanted.op = name;
    try {
      read_inputs(*find_operator(name), problem_from_file(wanted));
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("from 0 to the 9 tokens of k"), std::string::npos)
          << error.what();
    }
  }
}

TEST_F(TensorFile, GivesBackKeysOfOtherExtents) {
  for (const Operator& op : operators()) {
    if (std::count(op.optional_extents.begin(), op.optional_extents.end(), "key_heads") == 0)
      continue;
    Problem problem = small(op);
    problem.shape.heads = 6;
    for (const auto& [seq, heads] : {std::pair{9, 0}, std::pair{0, 2}, std::pair{9, 3}}) {
      problem.shape.key_seq = seq;
      problem.shape.key_heads = heads;
      if (!op.refuse || !op.refuse(problem)) expect_back(problem, path_);
    }
  }
}

TEST_F(TensorFile, RefusesBoundariesThatAreNone) {
  Problem drawn = drawn_problem(Layout::seq_first);
  drawn.shape.batch = 1;
  drawn.shape.sequences = 3;
  for (const std::vector<float>& ends :
       {std::vector<float>{0, 4, 2, 5}, {1, 2, 3, 5}, {0, 1, 2, 4}}) {
    tensors_ = stored_inputs(drawn);
    by_name(tensors_, "cu_seqlens").values = ends;
    expect_complaint(tensors_, "expected numbers that never fall, from 0 to the 5 tokens");
  }
  tensors_ = stored_inputs(drawn);
  by_name(tensors_, "cu_seqlens").shape = {2, 2};
  expect_complaint(tensors_, "tensor 'cu_seqlens' is I32 [2, 2]; expected one axis, [N + 1]");
  by_name(tensors_, "cu_seqlens").shape = {1};
  by_name(tensors_, "cu_seqlens").values = {0};
  expect_complaint(tensors_, "expected [N + 1] with whole extents of at least 1");
  drawn.shape.batch = 2;
  drawn.shape.sequences = 0;
  tensors_ = stored_inputs(drawn);
  tensors_.push_back({"cu_seqlens", DType::int32, {3}, {0, 2, 5}});
  expect_complaint(tensors_, "batch must be 1");
}

TEST_F(TensorFile, RefusesGatesThatGrowByTheirNames) {
  for (const auto& [name, gate] : {std::pair{"rwkv6", "w"}, std::pair{"retention", "log_decay"}}) {
    const Problem problem = small(*find_operator(name));
    tensors_ = stored_inputs(problem);
    by_name(tensors_, gate).values.front() = 0.5F;
    write_safetensors(path_, tensors_);
    const Problem there = problem_from_file(asked(problem, path_));
    EXPECT_THROW(read_inputs(*find_operator(name), there), InputError) << name;
  }
  Problem raw = small(*find_operator("rwkv6"));
  raw.options = {{"gate_input", "raw"}};
  tensors_ = stored_inputs(raw);
  by_name(tensors_, "w").values.front() = 0.5F;
  write_safetensors(path_, tensors_);
  const Problem there = problem_from_file(asked(raw, path_));
  EXPECT_EQ(read_inputs(*find_operator("rwkv6"), there).at("w").front(), 0.5F);
}

TEST_F(TensorFile, SaysWhichExtentTheTensorsDoNotTell) {
  // Only products of heads and dims: how many heads there are cannot be seen.
  Operator op = gla();
  op.tensors = [](const Problem& problem) {
    const Shape& s = problem.shape;
    const std::vector<std::int64_t> rows{s.batch * s.seq, s.heads * s.key_dim};
    return std::vector<TensorSpec>{{"x", TensorSpec::Role::input, problem.dtype, rows}};
  };
  write_safetensors(path_, {{{"x", DType::float32, {2, 2}, {1, 2, 3, 4}}}});
  try {
    problem_from_file(op, wanted_from(path_, Layout::seq_first));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("do not tell batch"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gla_bench
