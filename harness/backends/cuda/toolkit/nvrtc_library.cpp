#include "harness/backends/cuda/toolkit/nvrtc_library.hpp"

namespace gla_bench::cuda {

NvrtcFunctions::NvrtcFunctions(const Binder& bind) {
  bind(version, "nvrtcVersion");
  bind(error_string, "nvrtcGetErrorString");
  bind(create_program, "nvrtcCreateProgram");
  bind(destroy_program, "nvrtcDestroyProgram");
  bind(compile_program, "nvrtcCompileProgram");
  bind(log_size, "nvrtcGetProgramLogSize");
  bind(log, "nvrtcGetProgramLog");
  bind(cubin_size, "nvrtcGetCUBINSize");
  bind(cubin, "nvrtcGetCUBIN");
  bind(ptx_size, "nvrtcGetPTXSize");
  bind(ptx, "nvrtcGetPTX");
}

}  // namespace gla_bench::cuda
