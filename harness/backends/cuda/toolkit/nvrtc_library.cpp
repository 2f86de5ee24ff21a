#include "harness/backends/cuda/toolkit/nvrtc_library.hpp"

#include "harness/backends/cuda/toolkit/bind.hpp"

namespace gla_bench::cuda {
namespace {

NvrtcFunctions bind_nvrtc() {
  const Binder bind(nvrtc_library(), "NVRTC, which compiles the kernels,");
  NvrtcFunctions f;
  bind(f.version, "nvrtcVersion");
  bind(f.error_string, "nvrtcGetErrorString");
  bind(f.create_program, "nvrtcCreateProgram");
  bind(f.destroy_program, "nvrtcDestroyProgram");
  bind(f.compile_program, "nvrtcCompileProgram");
  bind(f.log_size, "nvrtcGetProgramLogSize");
  bind(f.log, "nvrtcGetProgramLog");
  bind(f.cubin_size, "nvrtcGetCUBINSize");
  bind(f.cubin, "nvrtcGetCUBIN");
  bind(f.ptx_size, "nvrtcGetPTXSize");
  bind(f.ptx, "nvrtcGetPTX");
  return f;
}

}  // namespace

const SharedLibrary& nvrtc_library() {
  static const SharedLibrary library = open_toolkit_library("libnvrtc", "libnvrtc-builtins.so");
  return library;
}

const NvrtcFunctions& nvrtc() {
  static const NvrtcFunctions functions = bind_nvrtc();
  return functions;
}

}  // namespace gla_bench::cuda
