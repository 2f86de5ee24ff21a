#include "harness/engine/exec.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/staging.hpp"
#include "tests/support/planted_variant.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

const Operator& gla() {
  return *find_operator("gla");
}

Problem drawn_problem(DType dtype, Layout layout) {
  Problem problem;
  problem.op = "gla";
  problem.dtype = dtype;
  problem.layout = layout;
  problem.shape = {2, 37, 3, 8, 12};
  problem.gate = "typical";
  problem.initial_state = true;
  return problem;
}

class Exec : public testing::Test {
 protected:
  // Writes a problem's drawn inputs to the input file and asks for them.
  ExecRequest request_for(const Problem& problem) {
    const HostTensors inputs = gla().draw(problem);
    std::vector<SafetensorsTensor> tensors;
    for (const TensorSpec& spec : gla().tensors(problem))
      if (spec.role == TensorSpec::Role::input)
        tensors.push_back({spec.name, spec.dtype, storage_extents(spec, problem.layout),
                           to_storage_order(spec, problem.layout, inputs.at(spec.name))});
    write_safetensors(input_, tensors);
    ExecRequest request;
    request.wanted.op = "gla";
    request.wanted.layout = problem.layout;
    request.wanted.final_state = problem.final_state;
    request.wanted.tensors = input_;
    request.output = output_;
    return request;
  }

  // Compares the output file with float64 from the drawn inputs.
  void expect_right(const Problem& problem, double bound) {
    const ReferenceTensors expected = gla().reference(problem, gla().draw(problem));
    const SafetensorsFile file(output_);
    std::size_t outputs = 0;
    for (const TensorSpec& spec : gla().tensors(problem)) {
      if (spec.role != TensorSpec::Role::output) continue;
      ++outputs;
      const SafetensorsEntry* entry = file.find(spec.name);
      ASSERT_NE(entry, nullptr) << spec.name;
      EXPECT_EQ(entry->shape, storage_extents(spec, problem.layout));
      EXPECT_EQ(dtype_of(*entry), spec.dtype);
      const std::vector<float> got = to_logical_order(spec, problem.layout, file.read(*entry));
      const std::vector<double>& exact = expected.at(spec.name);
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        error += (got[i] - exact[i]) * (got[i] - exact[i]);
        norm += exact[i] * exact[i];
      }
      EXPECT_TRUE(std::sqrt(error / norm) <= bound) << spec.name << " " << std::sqrt(error / norm);
    }
    EXPECT_EQ(file.entries().size(), outputs);
  }

  template <class Error>
  std::string complaint(const Variant& variant, const ExecRequest& request) {
    try {
      exec(*backend_, gla(), variant, request);
    } catch (const Error& error) {
      EXPECT_FALSE(std::filesystem::exists(output_));
      return error.what();
    }
    ADD_FAILURE() << "it was accepted";
    return "";
  }

  TemporaryFolder folder_;
  std::string input_ = folder_.file("in.safetensors"), output_ = folder_.file("out.safetensors");
  std::unique_ptr<Backend> backend_ = make_host_backend({});
};

TEST_F(Exec, WritesWhatFloat64SaysInEveryDtypeAndLayout) {
  const Variant variant = planted_variant(Fault::none);
  for (const Layout layout : {Layout::seq_first, Layout::head_first})
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      const Problem problem = drawn_problem(dtype, layout);
      exec(*backend_, gla(), variant, request_for(problem));
      expect_right(problem, dtype == DType::float32 ? 1e-6 : 4e-3);
    }
}

TEST_F(Exec, RunsEveryHostVariant) {
  Problem problem = drawn_problem(DType::float32, Layout::head_first);
  for (const Variant& variant : variants()) {
    if (variant.backend != BackendId::host || variant.op != "gla" ||
        variant.direction != Direction::forward)
      continue;
    exec(*backend_, gla(), variant, request_for(problem));
    expect_right(problem, 1e-5);
  }
}

TEST_F(Exec, LeavesTheFinalStateOutOnRequest) {
  Problem problem = drawn_problem(DType::float32, Layout::seq_first);
  problem.final_state = false;
  exec(*backend_, gla(), planted_variant(Fault::none), request_for(problem));
  expect_right(problem, 1e-6);
  EXPECT_EQ(SafetensorsFile(output_).find("final_state"), nullptr);
}

TEST_F(Exec, TakesTheScale) {
  const Problem problem = drawn_problem(DType::float32, Layout::seq_first);
  ExecRequest request = request_for(problem);
  request.wanted.scale = 0.125;
  exec(*backend_, gla(), planted_variant(Fault::none), request);
  Problem scaled = problem;
  scaled.scale = 0.125;
  expect_right(scaled, 1e-6);
}

TEST_F(Exec, SaysWhereTheOutputCameFrom) {
  const Variant variant = planted_variant(Fault::none);
  const Candidate ran = exec(*backend_, gla(), variant,
                             request_for(drawn_problem(DType::float32, Layout::head_first)));
  EXPECT_EQ(ran.tile, (Tile{{"chunk", 16}}));  // the first that is not refused
  const std::map<std::string, std::string> metadata = SafetensorsFile(output_).metadata();
  EXPECT_EQ(metadata.at("operator"), "gla");
  EXPECT_EQ(metadata.at("direction"), "forward");
  EXPECT_EQ(metadata.at("variant"), "planted");
  EXPECT_EQ(metadata.at("backend"), "host");
  EXPECT_EQ(metadata.at("tile"), "chunk=16");
  EXPECT_EQ(metadata.at("layout"), "head_first");
  EXPECT_EQ(std::stod(metadata.at("scale")), 1 / std::sqrt(8.0));
  EXPECT_EQ(metadata.at("source_hash"), source_hash(variant));
}

TEST_F(Exec, TakesTheTileAskedForOrSaysWhyNot) {
  const Variant variant = planted_variant(Fault::none);
  ExecRequest request = request_for(drawn_problem(DType::float32, Layout::seq_first));
  request.tile = {{"chunk", 8}};
  EXPECT_NE(complaint<InputError>(variant, request).find("chunk 8 is below 16"), std::string::npos);
  request.tile = {{"chunk", 9}};
  EXPECT_NE(complaint<InputError>(variant, request).find("chunk=9; expected one of 8, 16, 32"),
            std::string::npos);
  request.tile = {{"block", 8}};
  EXPECT_NE(
      complaint<InputError>(variant, request).find("no tile axis 'block'; expected one of chunk"),
      std::string::npos);
  request.tile = {{"chunk", 32}};
  EXPECT_EQ(exec(*backend_, gla(), variant, request).tile, request.tile);
}

TEST_F(Exec, NamesARefusal) {
  const ExecRequest request = request_for(drawn_problem(DType::float32, Layout::seq_first));
  const std::string message =
      complaint<InputError>(planted_variant(Fault::refuses, "picky"), request);
  EXPECT_NE(message.find("picky [host] refuses gla forward float32"), std::string::npos) << message;
  EXPECT_NE(message.find("planted: it refuses everything"), std::string::npos) << message;
}

TEST_F(Exec, WritesNothingWhenTheRunWentWrong) {
  const ExecRequest request = request_for(drawn_problem(DType::float32, Layout::seq_first));
  const auto expect = [&](Fault fault, const std::string& part) {
    const std::string message = complaint<RunError>(planted_variant(fault), request);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(Fault::nan, "output 'o' holds NaN");
  expect(Fault::unwritten, "output 'o' holds NaN");
  expect(Fault::overrun, "guard zone");
  expect(Fault::input_changed, "changed");
  expect(Fault::throws, "it does not run");
}

TEST_F(Exec, RefusesAnOutputThatCannotBeWritten) {
  ExecRequest request = request_for(drawn_problem(DType::float32, Layout::seq_first));
  request.output = "/dev/null/out.safetensors";  // no folder can be made below a file
  EXPECT_THROW(exec(*backend_, gla(), planted_variant(Fault::none), request), OutputError);
}

}  // namespace
}  // namespace gla_bench
