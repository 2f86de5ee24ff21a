#pragma once
// Other people's tools, run on the launch of a single candidate: ncu and compute-sanitizer.

#include <functional>
#include <string>
#include <vector>

namespace gla_bench {

/// The path of a program of the CUDA toolkit: in PATH, else in the toolkit's own folders. `exists`:
/// whether there is a program at a path. @throws InputError that says which places were searched
std::string find_tool(const std::string& tool, const std::string& path,
                      const std::function<bool(const std::string&)>& exists);

/// The command line of `tool` that makes it look at one call of the candidate, which this program
/// repeats. The clocks are left alone, and only the range that `repeat --profile` marks is
/// profiled. `more` is passed on to the tool. With an empty `output` the tool prints to the
/// terminal.
std::vector<std::string> ncu_command(const std::string& tool, const std::string& program,
                                     const std::vector<std::string>& repeat,
                                     const std::string& output,
                                     const std::vector<std::string>& more);

/// The same for one of compute-sanitizer's checks (memcheck, racecheck, initcheck, synccheck). The
/// tool's exit code is 1 where it finds something.
std::vector<std::string> sanitizer_command(const std::string& tool, const std::string& program,
                                           const std::vector<std::string>& repeat,
                                           const std::string& check,
                                           const std::vector<std::string>& more);

}  // namespace gla_bench
