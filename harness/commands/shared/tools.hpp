#pragma once
// Other people's tools on just one candidate's launch: ncu and compute-sanitizer.

#include <functional>
#include <string>
#include <vector>

namespace gla_bench {

/// Where a program of the CUDA toolkit is: in PATH, else in the toolkit's own folders.
/// `exists`: whether there is a program at a path. @throws InputError saying where was looked
std::string find_tool(const std::string& tool, const std::string& path,
                      const std::function<bool(const std::string&)>& exists);

/// `tool` with what makes it look at one call of the candidate, and this program repeating it. The
/// clocks are left alone; only the range that `repeat --profile` marks is profiled. `more` goes to
/// the tool. An empty `output` prints to the terminal.
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
