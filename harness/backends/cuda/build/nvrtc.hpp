#pragma once
// One compilation by NVRTC, from text to a binary for one architecture. Needs no device and no
// driver.

#include <string>
#include <vector>

namespace gla_bench::cuda {

/// A header that exists in memory only, by the exact name under which it is included.
struct Header {
  std::string name;
  std::string text;
};

struct Binary {
  std::string cubin;
  std::string log;       ///< warnings and the assembler's account (ptxas_log.hpp)
  std::string ptx = {};  ///< what was assembled; empty for a binary out of a cache
};

/// "13.0". @throws InputError where NVRTC is missing
std::string nvrtc_version();

/// Options that decide what comes out, for NVRTC and for the key of a cache.
std::vector<std::string> nvrtc_options(int arch);

/// Folders that hold the toolkit's headers: beside the NVRTC library, whose version they then have,
/// and in the toolkits that toolkit_folders() finds, as far as they hold cuda_fp16.h.
std::vector<std::string> toolkit_include_folders();

/// Compiles. Safe to call from several threads at once.
/// @throws BuildError with the compiler's log; InputError where NVRTC is missing
Binary compile_with_nvrtc(const std::string& text, const std::vector<Header>& headers, int arch);

}  // namespace gla_bench::cuda
