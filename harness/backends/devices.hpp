#pragma once
// The CUDA devices of this machine.

namespace gla_bench {

/// How many there are; 0 without a driver, and in a build without CUDA. Makes no context, but
/// initialises the driver: for workers, never for their parent.
int cuda_device_count();

}  // namespace gla_bench
