#pragma once
// The functions of NVRTC, loaded at run time.

#include <nvrtc.h>

#include "harness/support/system/shared_library.hpp"

namespace gla_bench::cuda {

/// The functions in use, under their own names without the prefix.
struct NvrtcFunctions {
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

/// The library, opened at the first call. If it is missing, its reason() lists what was tried.
const SharedLibrary& nvrtc_library();

/// @throws InputError where the library, or a function of it, is missing
const NvrtcFunctions& nvrtc();

}  // namespace gla_bench::cuda
