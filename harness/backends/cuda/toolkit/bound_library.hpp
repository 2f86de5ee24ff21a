#pragma once
// Libraries of the toolkit that are opened when something of them is first needed, and the
// functions that the program takes from them.

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "harness/backends/cuda/toolkit/toolkit.hpp"

namespace gla_bench::cuda {

/// Sets function pointers to the functions of an open library.
class Binder {
 public:
  /// `purpose` is the start of the message: "cuBLAS, which multiplies matrices,". @throws
  /// InputError where the library is not open
  Binder(const SharedLibrary& library, std::string_view purpose) : library_(library) {
    if (!library.is_open())
      throw InputError(std::string(purpose) + " is missing: " + library.reason() +
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

/// The library that a table of functions is of, opened at the first call. If it is missing, its
/// reason() lists what was tried. A table of functions has a `stem` and a `companion`, as in
/// open_toolkit_library(), and a `purpose` and a constructor that takes a Binder.
template <class Functions>
const SharedLibrary& library_of() {
  static const SharedLibrary library = open_toolkit_library(Functions::stem, Functions::companion);
  return library;
}

/// The functions, bound at the first call. @throws InputError where the library, or a function of
/// it, is missing
template <class Functions>
const Functions& functions_of() {
  static const Functions functions{Binder(library_of<Functions>(), Functions::purpose)};
  return functions;
}

}  // namespace gla_bench::cuda
