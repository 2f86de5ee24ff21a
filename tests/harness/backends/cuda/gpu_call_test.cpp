// Calls on memory that the backend does not own, on the device.

#include <cuda_runtime_api.h>

#include <map>
#include <vector>

#include "core/error.hpp"
#include "harness/backends/cuda/device/memory.hpp"
#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

class GpuCall : public GpuFixture {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }

  void place(const std::string& name, std::size_t floats) {
    memory_.insert_or_assign(name, DeviceMemory(floats * sizeof(float), name));
  }
  void write(const std::string& name, const std::vector<float>& values) {
    place(name, values.size());
    ASSERT_EQ(cudaMemcpy(memory_.at(name).data(), values.data(), values.size() * sizeof(float),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  std::vector<float> read(const std::string& name, std::size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(values.data(), memory_.at(name).data(), count * sizeof(float),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

  /// A call with memory for its workspace.
  std::unique_ptr<DirectCall> call_of(const Variant& variant) {
    auto call = backend_->call({&variant, problem_, {}});
    for (const Region& region : call->workspace()) place(region.name, region.bytes / 4);
    return call;
  }

  void run(const DirectCall& call) {
    call.run(
        [this](std::string_view name) -> void* {
          const auto found = memory_.find(std::string(name));
          return found == memory_.end() ? nullptr : found->second.data();
        },
        stream_);
  }

  cudaStream_t stream_ = nullptr;
  std::map<std::string, DeviceMemory> memory_;
};

TEST_F(GpuCall, ComputesWhereTensorsLie) {
  const Variant twice = variant("twice");
  const std::vector<float> x = inputs().at("x");
  write("x", x);
  place("y", x.size());
  const auto call = call_of(twice);
  EXPECT_GT(call->info().registers, 0);
  run(*call);
  std::vector<float> y = read("y", x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]) << i;
  // The next call is on other memory.
  write("x", y);
  run(*call);
  y = read("y", x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i]) << i;
}

TEST_F(GpuCall, IsCapturedIntoAGraph) {
  const Variant twice = variant("twice");
  const std::vector<float> x = inputs().at("x");
  write("x", x);
  place("y", x.size());
  const auto call = call_of(twice);
  // No call before: all that a capture forbids was done when the call was made.
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  run(*call);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphExec_t replay = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(replay, stream_), cudaSuccess);
  const std::vector<float> y = read("y", x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]) << i;
  EXPECT_EQ(cudaGraphExecDestroy(replay), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(GpuCall, CallsThatShareABinaryKeepTheirSharedMemory) {
  const Variant much = variant("needs_much_shared", 80000), little = variant("twice", 1000);
  const Variant less = variant("needs_much_shared", 1000);
  write("x", inputs().at("x"));
  place("y", inputs().at("x").size());
  const auto large = call_of(much);
  const auto small = call_of(less);  // the same kernel, which is allowed less for this call alone
  run(*large);
  EXPECT_EQ(read("work", 1)[0], 19999.0f);
  run(*call_of(little));
}

TEST_F(GpuCall, MultipliesOnItsOwnStreamAndWorkspace) {
  constexpr std::int64_t n = 16;
  Variant product = variant("twice");
  product.bind = [](const Problem&, const Tile&, const Address&) { return ParamBytes(); };
  product.code = [](const Problem&, const Tile&) {
    MatrixProduct step;
    step.m = step.n = step.k = n;
    step.a = {"x", DType::float32, 0, n, n * n, false};
    step.b = {"b", DType::float32, 0, n, n * n, false};
    step.c = {"y", DType::float32, 0, n, n * n, false};
    return Recipe{"map.cuh", {}, {step}};
  };
  std::vector<float> x(n * n), identity(n * n, 0.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13);
  for (std::int64_t i = 0; i < n; ++i) identity[static_cast<std::size_t>(i * n + i)] = 1.0f;
  write("x", x);
  write("b", identity);
  place("y", x.size());
  const auto call = call_of(product);
  EXPECT_EQ(call->workspace().size(), 2u) << "the variant's region, and cuBLAS's";
  run(*call);
  EXPECT_EQ(read("y", x.size()), x);
}

}  // namespace
}  // namespace gla_bench::cuda
