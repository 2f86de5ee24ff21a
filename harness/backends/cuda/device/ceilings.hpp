#pragma once
#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// Copies 1 GiB (or a quarter of the free memory) and multiplies bfloat16 matrices. Both use the
/// same timer as candidates and report medians of several samples. @throws RunError
Ceilings measure_ceilings(Device& device);

}  // namespace gla_bench::cuda
