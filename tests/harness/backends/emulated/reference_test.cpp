// The kernels of the device's float64 reference, run by emulation, against the definition on the
// host.

#include <gtest/gtest.h>

#include <cstring>

#include "core/operator.hpp"
#include "harness/backends/emulated/kernels.hpp"
#include "harness/backends/emulated/threads.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "reference/linear_recurrence/params.h"
#include "tests/harness/backends/cuda/relative_error.hpp"

namespace gla_bench::emulated {
namespace {

// The outputs of a problem's recipe. All memory begins as NaN but that of the workspace.
template <class Real>
std::map<std::string, std::vector<Real>> run(const Problem& problem, const HostTensors& inputs,
                                             std::optional<Arithmetic> arithmetic = {}) {
  static Compiler compiler("", 1);
  const Operator& op = *find_operator(problem.op);
  const ReferenceRecipe recipe = *op.device_reference->recipe(problem, arithmetic);
  std::map<std::string, std::vector<Real>> outputs;
  std::map<std::string, std::vector<std::byte>> workspace;
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::output)
      outputs[spec.name].assign(static_cast<std::size_t>(spec.elements()),
                                std::numeric_limits<Real>::quiet_NaN());
  for (const Region& region : recipe.workspace) workspace[region.name].resize(region.bytes);
  const ParamBytes bytes = recipe.bind([&](std::string_view name) -> void* {
    const std::string key(name);
    if (const auto found = inputs.find(key); found != inputs.end())
      return const_cast<float*>(found->second.data());
    if (const auto found = outputs.find(key); found != outputs.end()) return found->second.data();
    if (const auto found = workspace.find(key); found != workspace.end())
      return found->second.data();
    return nullptr;
  });
  using Params = recurrence::device::Params<Real>;
  Params params;
  EXPECT_EQ(bytes.size(), sizeof params);
  std::memcpy(&params, bytes.data(), sizeof params);
  const KernelsPtr kernels = compiler.get(unit_of(recipe, arithmetic));
  for (const KernelLaunch& launch : recipe.launches) {
    auto* const kernel = reinterpret_cast<void (*)(Params)>(kernels->entry(launch.entry));
    const auto index = [](const Dim3& d) { return Index{d.x, d.y, d.z}; };
    run_grid({index(launch.grid), index(launch.block), launch.shared_bytes, 0,
              kernels->cluster(launch.entry)},
             kernels->exchange(), [&] { kernel(params); });
  }
  kernels->exchange().runtime = nullptr;
  return outputs;
}

Problem problem_of(const char* op, Direction direction, Shape shape, const std::string& gate) {
  Problem problem;
  problem.op = op;
  problem.direction = direction;
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = DType::bfloat16;
  problem.initial_state = true;
  return problem;
}

void expect_the_hosts(const Problem& problem) {
  const Operator& op = *find_operator(problem.op);
  ASSERT_FALSE(op.refuse(problem)) << describe(problem);
  const HostTensors inputs = op.draw(problem);
  cuda::expect_near(op.reference(problem, inputs), run<double>(problem, inputs), 1e-11,
                    describe(problem));
}

constexpr const char* members[] = {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"};

// More than one of the segments of 64 tokens, an unfinished one, and two blocks of columns.
TEST(EmulatedReference, TheRecurrencesGradientsAreTheHosts) {
  for (const char* member : members)
    expect_the_hosts(problem_of(member, Direction::training, {1, 131, 2, 20, 40},
                                find_operator(member)->gates.front()));
  expect_the_hosts(problem_of("gla", Direction::training, {1, 70, 1, 20, 12}, "resets"));
}

TEST(EmulatedReference, AStateOfManyKeysIsOfManyWarps) {
  expect_the_hosts(problem_of("gla", Direction::training, {2, 66, 1, 130, 33}, "mild"));
}

TEST(EmulatedReference, KnowsRaggedSequencesFeaturesAndRawGatesOfTheBackward) {
  const auto expect = [](const char* member, const std::map<std::string, std::string>& options) {
    Problem problem = problem_of(member, Direction::backward, {1, 90, 2, 20, 12}, "mild");
    if (std::string(member) == "linear_attention") problem.gate = "none";
    problem.shape.sequences = 4;
    problem.options = options;
    expect_the_hosts(problem);
  };
  expect("linear_attention", {{"feature_map", "elu_plus_one"}});
  expect("gla", {});
  expect("rwkv6", {{"gate_input", "raw"}});
}

TEST(EmulatedReference, ThePlainGradientsErrAsTheHostsDo) {
  for (const char* member : {"simple_gla", "gla", "rwkv6"}) {
    const Problem problem = problem_of(member, Direction::backward, {1, 70, 1, 64, 32}, "mild");
    const Operator& op = *find_operator(member);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors truth = op.reference(problem, inputs);
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::bfloat16}) {
      const HostTensors host = op.baseline(problem, inputs, arithmetic);
      const auto got = run<float>(problem, inputs, arithmetic);
      const bool rounded = arithmetic != Arithmetic::float32;
      cuda::expect_errors_alike(truth, host, got, rounded ? 0.6 : 0.3, rounded ? 1.5 : 2.0,
                                std::string(member) + " " + std::string(name(arithmetic)));
    }
  }
}

}  // namespace
}  // namespace gla_bench::emulated
