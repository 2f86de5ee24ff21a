// The substitute for the CUDA backend in a host-only build. It reports that there is no CUDA.

#include "harness/backends/backend.hpp"
#include "harness/backends/devices.hpp"

namespace gla_bench {

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&) {
  return nullptr;
}

std::string cuda_build_description() {
  return "built without CUDA (host only)";
}

std::map<std::string, std::string> cuda_libraries() {
  return {};
}

std::optional<std::string> cuda_compiler_description() {
  return std::nullopt;
}

int cuda_device_count() {
  return 0;
}

}  // namespace gla_bench
