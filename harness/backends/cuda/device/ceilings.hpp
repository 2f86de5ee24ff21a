#pragma once
#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// Copies 1 GiB (or a quarter of what is free) and multiplies bfloat16 matrices, both with the
/// timer that candidates are judged by: medians of several samples. @throws RunError
Ceilings measure_ceilings(Device& device);

}  // namespace gla_bench::cuda
