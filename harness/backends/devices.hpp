#pragma once
// The CUDA devices of this machine, and the libraries that serve them.

#include <map>
#include <string>

namespace gla_bench {

/// How many there are; 0 without a driver, and in a build without CUDA. Makes no context, but
/// initialises the driver: for workers, never for their parent.
int cuda_device_count();

/// The libraries of the CUDA toolkit that are opened at run time, by name ("NVRTC"), each with its
/// file or with what was tried where. Empty in a build without CUDA.
std::map<std::string, std::string> cuda_libraries();

}  // namespace gla_bench
