// The example of a kernel from outside, run thread by thread on the host: what it computes, and
// that its manifest passes it what it takes, also where there is no GPU.

#include <cmath>
#include <cstring>
#include <utility>

#include "harness/backends/cuda/run/arguments.hpp"
#include "harness/config/candidates/manifest_variant.hpp"
#include "harness/tensors/staging.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench::on_host {

// What CUDA and the prologue define for the source.
struct Place {
  int x = 0, y = 0, z = 0;
};
inline Place blockIdx, blockDim, threadIdx, gridDim;
using io_t = float;

#pragma push_macro("__global__")
#undef __global__
#define __global__
#define KEY_DIM 8
#define VALUE_DIM 12
#include "examples/naive_gla.cu"
#undef VALUE_DIM
#undef KEY_DIM
#pragma pop_macro("__global__")

}  // namespace gla_bench::on_host

namespace gla_bench::cuda {
namespace {

using Memory = std::map<std::string, std::vector<std::byte>>;

template <class Value>
Value in_slot(const ParamBytes& slots, std::size_t index) {
  Value value{};
  std::memcpy(&value, slots.data() + index * argument_slot, sizeof value);
  return value;
}

template <class... Taken, std::size_t... index>
void call(void (*kernel)(Taken...), const ParamBytes& slots, std::index_sequence<index...>) {
  kernel(in_slot<Taken>(slots, index)...);
}

/// Calls the kernel for every thread of the launch. The sizes must be those of its arguments.
template <class... Taken>
void launch_on_host(void (*kernel)(Taken...), const KernelLaunch& launch, const Address& address) {
  const std::vector<std::size_t> sizes{sizeof(Taken)...};
  ASSERT_EQ(sizes.size(), launch.arguments.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    ASSERT_EQ(sizes[i], size_of(launch.arguments[i])) << "argument " << i + 1;
  const ParamBytes slots = bytes_of(launch.arguments, address);
  const auto place = [](const Dim3& d) {
    return on_host::Place{static_cast<int>(d.x), static_cast<int>(d.y), static_cast<int>(d.z)};
  };
  on_host::gridDim = place(launch.grid);
  on_host::blockDim = place(launch.block);
  auto& block = on_host::blockIdx;
  for (block.z = 0; block.z < on_host::gridDim.z; ++block.z)
    for (block.y = 0; block.y < on_host::gridDim.y; ++block.y)
      for (block.x = 0; block.x < on_host::gridDim.x; ++block.x)
        for (int x = 0; x < on_host::blockDim.x; ++x) {
          on_host::threadIdx.x = x;
          call(kernel, slots, std::index_sequence_for<Taken...>());
        }
}

/// The tensors as they lie in a device's memory; outputs begin as NaN.
Memory staged(const Operator& op, const Problem& problem, const HostTensors& inputs) {
  Memory memory;
  for (const TensorSpec& spec : op.tensors(problem)) {
    auto& bytes = memory[spec.name];
    bytes.assign(static_cast<std::size_t>(spec.memory_bytes()), std::byte{0xff});
    if (spec.role == TensorSpec::Role::input)
      pack(spec, problem.layout, inputs.at(spec.name), bytes);
  }
  return memory;
}

void expect_reference(const Problem& problem) {
  const Operator& op = *find_operator("gla");
  const Manifest manifest = example::read(example::manifest());
  const Variant variant = variant_of(manifest, op, "", {});
  const Tile tile{{"block_v", 32}};
  ASSERT_EQ(variant.reject(problem, tile, {.arch = 90, .shared_per_block = 1 << 16}), std::nullopt);
  const HostTensors inputs = op.draw(problem);
  Memory memory = staged(op, problem, inputs);
  const Address address = [&](std::string_view name) -> void* {
    for (const TensorSpec& spec : op.tensors(problem))
      if (spec.name == name) return memory.at(spec.name).data() + spec.first_byte();
    return nullptr;
  };
  const Recipe recipe =
      std::get<std::function<Recipe(const Problem&, const Tile&)>>(variant.code)(problem, tile);
  launch_on_host(on_host::naive_gla, std::get<KernelLaunch>(recipe.steps.at(0)), address);
  for (const auto& [name, expected] : op.reference(problem, inputs))
    for (const TensorSpec& spec : op.tensors(problem)) {
      if (spec.name != name) continue;
      std::vector<float> got(expected.size());
      unpack(spec, problem.layout, memory.at(name), got);
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], 1e-4) << describe(problem) << " " << name << " " << i;
    }
}

TEST(CandidateOnHost, TheExampleIsTheReference) {
  Problem problem;
  problem.op = "gla";
  problem.shape = {2, 9, 3, 8, 12};
  for (const Layout layout : {Layout::seq_first, Layout::head_first})
    for (const bool initial_state : {false, true})
      for (const bool final_state : {false, true}) {
        problem.layout = layout;
        problem.initial_state = initial_state;
        problem.final_state = final_state;
        expect_reference(problem);
      }
}

TEST(CandidateOnHost, PackedInputsAndAScaleArePassed) {
  Problem problem;
  problem.op = "gla";
  problem.shape = {2, 9, 3, 8, 12};
  problem.scale = 0.7;
  problem.options["packed"] = "true";
  expect_reference(problem);
}

}  // namespace
}  // namespace gla_bench::cuda
