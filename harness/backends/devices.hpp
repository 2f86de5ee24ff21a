#pragma once
// The CUDA devices of this machine and the libraries that they need.

#include <map>
#include <string>

namespace gla_bench {

/// The number of devices; 0 without a driver and in a build without CUDA. Creates no context but
/// initialises the driver, so call it in workers and never in their parent process.
int cuda_device_count();

/// The CUDA toolkit's libraries that are opened at run time, by name ("NVRTC"). The value is the
/// library's file, or a list of what was tried. Empty in a build without CUDA.
std::map<std::string, std::string> cuda_libraries();

}  // namespace gla_bench
