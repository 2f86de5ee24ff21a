#pragma once
// For tests that use the first GPU without a backend; they are skipped where there is none.

#include <gtest/gtest.h>

#include <memory>

#include "harness/backends/cuda/device/device.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {

class GpuDevice : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceProbe probe = probe_device(0);
    if (!probe.properties) GTEST_SKIP() << "no CUDA device: " << probe.reason;
    CudaOptions options;
    options.cache_dir = folder_.file("cache");
    compiler_ = std::make_unique<Compiler>(options, nullptr);
    device_ = std::make_unique<Device>(0, *probe.properties, *compiler_);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Device> device_;
};

}  // namespace gla_bench::cuda
