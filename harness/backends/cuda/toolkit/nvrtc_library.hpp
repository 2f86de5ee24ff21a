#pragma once
// The functions of NVRTC, loaded at run time.

#include <nvrtc.h>

#include "harness/backends/cuda/toolkit/bound_library.hpp"

namespace gla_bench::cuda {

/// The functions in use, under their own names without the prefix.
struct NvrtcFunctions {
  static constexpr std::string_view stem = "libnvrtc", companion = "libnvrtc-builtins.so";
  static constexpr std::string_view purpose = "NVRTC, which compiles the kernels,";

  explicit NvrtcFunctions(const Binder& bind);

  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
  decltype(&::nvrtcCreateProgram) create_program = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&::nvrtcCompileProgram) compile_program = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin = nullptr;
  decltype(&::nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) ptx = nullptr;
};

/// @throws InputError where the library, or a function of it, is missing
inline const NvrtcFunctions& nvrtc() {
  return functions_of<NvrtcFunctions>();
}

}  // namespace gla_bench::cuda
