#pragma once
// Compiles one text with NVRTC into a binary for one architecture. Needs no device and no driver.

#include <string>
#include <vector>

namespace gla_bench::cuda {

/// A header that exists only in memory, under the exact name in the include line.
struct Header {
  std::string name;
  std::string text;
};

struct Binary {
  std::string cubin;
  std::string log;       ///< warnings and the assembler's report (ptxas_log.hpp)
  std::string ptx = {};  ///< the assembler's input; empty for a cached binary
};

/// "13.0". @throws InputError where NVRTC is missing
std::string nvrtc_version();

/// The options that determine the binary, for NVRTC and for the key of a cache. `quick`: nearly
/// without optimisation (CudaOptions), where NVRTC knows how, which is from 12.9 on.
std::vector<std::string> nvrtc_options(int arch, bool quick = false);

/// Folders that hold the toolkit's headers. First is the folder next to the NVRTC library, whose
/// version matches. Then come the toolkits that toolkit_folders() finds. Only folders with
/// cuda_fp16.h count.
std::vector<std::string> toolkit_include_folders();

/// Compiles. Safe to call from several threads at once. What was once compiled quickly has spoilt
/// the process for anything else: NVRTC 13.0 keeps that option, and gives other binaries for the
/// same text and options.
/// @throws BuildError with the compiler's log, and for what is not to be quick in such a process;
///     InputError where NVRTC is missing
Binary compile_with_nvrtc(const std::string& text, const std::vector<Header>& headers, int arch,
                          bool quick = false);

}  // namespace gla_bench::cuda
