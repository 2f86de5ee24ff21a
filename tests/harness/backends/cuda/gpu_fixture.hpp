#pragma once
// A CUDA backend over kernels that a test writes, on the device; skips, saying why, where there is
// none.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "harness/backends/backend.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {

/// y = some kernel of x, both [batch, seq, heads, key_dim] in the problem's dtype.
inline Operator map_operator() {
  Operator op;
  op.name = "map";
  op.tensors = [](const Problem& p) {
    const std::vector<std::int64_t> extents{p.shape.batch, p.shape.seq, p.shape.heads,
                                            p.shape.key_dim};
    return std::vector<TensorSpec>{{"x", TensorSpec::Role::input, p.dtype, extents, true},
                                   {"y", TensorSpec::Role::output, p.dtype, extents, true}};
  };
  op.signed_inputs = [](const Problem&) { return std::vector<std::string>{"x"}; };
  return op;
}

inline std::int64_t elements(const Problem& p) {
  return p.shape.batch * p.shape.seq * p.shape.heads * p.shape.key_dim;
}

class GpuFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.path() / "kernels");
    std::ofstream(folder_.path() / "kernels" / "map.cuh") << R"(
struct Params { const io_t* x; io_t* y; float* work; long long count; };
__device__ long long thread() { return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; }
extern "C" __global__ void twice(const __grid_constant__ Params p) {
  const long long i = thread();
  if (i < p.count) p.y[i] = static_cast<io_t>(2.0f * static_cast<float>(p.x[i]));
}
extern "C" __global__ void behind(const __grid_constant__ Params p) {
  if (thread() == 0) p.y[p.count + 3] = static_cast<io_t>(1.0f);
}
extern "C" __global__ void before(const __grid_constant__ Params p) {
  if (thread() == 0) p.y[-1] = static_cast<io_t>(1.0f);
}
extern "C" __global__ void changes_input(const __grid_constant__ Params p) {
  if (thread() == 0) const_cast<io_t*>(p.x)[p.count - 1] = static_cast<io_t>(77.0f);
}
extern "C" __global__ void work_overrun(const __grid_constant__ Params p) {
  if (thread() == 0) p.work[16] = 1.0f;
}
extern "C" __global__ void reads_behind(const __grid_constant__ Params p) {
  if (thread() == 0) p.y[0] = p.x[p.count];
}
extern "C" __global__ void wild(const __grid_constant__ Params p) {
  if (thread() == 0) *reinterpret_cast<volatile int*>(16ull) = 1;
}
extern "C" __global__ void takes_200_us(const __grid_constant__ Params p) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < 200000);
}
extern "C" __global__ void waits_for_memory(const __grid_constant__ Params p) {
  if (thread() != 0) return;  // 1000 loads, each where the one before says
  long long at = 0;
  for (int i = 0; i < 1000; ++i)
    at = (at + 2099 + (static_cast<float>(p.x[at]) > 1000.0f ? 1 : 0)) % p.count;
  p.y[0] = static_cast<io_t>(static_cast<float>(at % 64));
}
extern "C" __global__ void reads_leftovers(const __grid_constant__ Params p) {
  extern __shared__ float line[];
  const volatile float* left = line;
  const long long i = thread();
  if (i < p.count) p.y[i] = static_cast<io_t>(left[(97 * i) % 20000]);
}
extern "C" __global__ void needs_much_shared(const __grid_constant__ Params p) {
  extern __shared__ float line[];
  for (int i = threadIdx.x; i < 20000; i += blockDim.x) line[i] = static_cast<float>(i);
  __syncthreads();
  if (threadIdx.x == 0) p.work[0] = line[19999];
}
)";
    options_.source_dir = (folder_.path() / "kernels").string();
    options_.cache_dir = folder_.file("cache");
    backend_ = make_cuda_backend(options_);
    if (!backend_->can_run())
      GTEST_SKIP() << "no CUDA device: " << backend_->environment().at("device");
    problem_.op = "map";
    problem_.shape = {2, 5, 3, 7, 7};
  }

  struct Params {
    const void* x;
    void *y, *work;
    long long count;
  };

  /// A variant that launches one kernel of map.cuh.
  Variant variant(const std::string& entry, std::size_t shared_bytes = 0) const {
    Variant v;
    v.op = "map";
    v.name = entry;
    v.backend = BackendId::cuda;
    v.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{{"work", 64}}; };
    v.bind = [](const Problem& p, const Tile&, const Address& address) {
      const Params params{address("x"), address("y"), address("work"), elements(p)};
      ParamBytes bytes(sizeof params);
      std::memcpy(bytes.data(), &params, sizeof params);
      return bytes;
    };
    v.code = [=](const Problem& p, const Tile&) {
      const auto blocks = static_cast<unsigned>((elements(p) + 127) / 128);
      return Recipe{
          "map.cuh", {}, {KernelLaunch{entry, {blocks, 1, 1}, {128, 1, 1}, shared_bytes}}};
    };
    return v;
  }

  HostTensors inputs() const {
    HostTensors tensors;
    for (std::int64_t i = 0; i < elements(problem_); ++i)
      tensors["x"].push_back(static_cast<float>(i % 64));
    return tensors;
  }

  TemporaryFolder folder_;
  CudaOptions options_;
  Problem problem_;
  Operator op_ = map_operator();
  std::unique_ptr<Backend> backend_;
};

}  // namespace gla_bench::cuda
