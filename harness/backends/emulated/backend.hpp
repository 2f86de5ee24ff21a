#pragma once
// CUDA candidates without a GPU.

#include <memory>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// Emulates a device of sm_90a: candidates run on the host, thread by thread, with the checks of
/// any other backend. Takes source_dir and compile_threads of the options. @throws InputError
std::unique_ptr<Backend> make_emulated_backend(const CudaOptions& options = {});

}  // namespace gla_bench
