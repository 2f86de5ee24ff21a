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

/// How far a text is compiled. Only optimised machine code is to be timed.
enum class Depth {
  optimised,  ///< to machine code, as for a run
  quick,      ///< to machine code nearly without optimisation, where NVRTC knows how (from 12.9 on)
  ptx,        ///< as quickly, and no further than the assembler's input
};

struct Binary {
  std::string cubin;     ///< empty where no more than PTX was asked for
  std::string log;       ///< warnings and the assembler's report (ptxas_log.hpp)
  std::string ptx = {};  ///< the assembler's input; empty for a cached binary
};

/// "13.0". @throws InputError where NVRTC is missing
std::string nvrtc_version();

/// The options that determine the binary, for NVRTC and for the key of a cache.
std::vector<std::string> nvrtc_options(int arch, Depth depth = Depth::optimised);

/// Folders that hold the toolkit's headers. First is the folder next to the NVRTC library, whose
/// version matches. Then come the toolkits that toolkit_folders() finds. Only folders with
/// cuda_fp16.h count.
std::vector<std::string> toolkit_include_folders();

/// Compiles. Safe to call from several threads at once. What was once compiled quickly has spoilt
/// the process for anything else: NVRTC 13.0 keeps that option, and gives other binaries for the
/// same text and options.
/// @throws BuildError with the compiler's log, and for what is to be optimised in such a process;
///     InputError where NVRTC is missing
Binary compile_with_nvrtc(const std::string& text, const std::vector<Header>& headers, int arch,
                          Depth depth = Depth::optimised);

}  // namespace gla_bench::cuda
