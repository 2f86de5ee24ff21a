#pragma once
// Fills a table of function pointers from a library of the toolkit.

#include <string>

#include "core/error.hpp"
#include "harness/backends/cuda/toolkit/toolkit.hpp"

namespace gla_bench::cuda {

class Binder {
 public:
  /// `purpose` is the start of the message: "cuBLAS, which multiplies matrices,". @throws
  /// InputError where the library is not open
  Binder(const SharedLibrary& library, const std::string& purpose) : library_(library) {
    if (!library.is_open())
      throw InputError(purpose + " is missing: " + library.reason() +
                       ". It comes with the CUDA toolkit, which is looked for in CUDA_HOME, "
                       "CUDA_PATH, /usr/local/cuda* and /opt/cuda, after LD_LIBRARY_PATH. "
                       "--backend host does without.");
  }

  /// @throws InputError where the library has no such function
  template <class Function>
  void operator()(Function*& function, const char* name) const {
    if (!library_.find(function, name))
      throw InputError(library_.path() + " has no function " + name +
                       ": it is too old for this program");
  }

 private:
  const SharedLibrary& library_;
};

}  // namespace gla_bench::cuda
