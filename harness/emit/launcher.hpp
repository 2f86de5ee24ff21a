#pragma once
// A candidate as source code of its own: one .cu file with its kernels and a launcher, and the C
// header of the launcher. They depend on the CUDA toolkit alone.

#include <string>
#include <vector>

#include "harness/backends/sources/source_store.hpp"
#include "harness/emit/run_time.hpp"

namespace gla_bench {

/// What a launcher is made from.
struct LauncherRequest {
  const Operator& op;
  const Candidate& candidate;
  const Limits& limits;
  const SourceStore& store;  ///< of the kernels; a candidate from outside has its own texts
  std::string name;          ///< of the function, of which the files are named, too
};

struct Launcher {
  std::string name;         ///< "gla_forward"
  std::string struct_name;  ///< "GlaForwardProblem"
  RunTimeCall run_time;
  std::string cuda, header;  ///< name.cu and name.h
};

/// The name of a problem's launcher: "gla_forward".
std::string launcher_name(const Problem& problem);

/// Whether a text can be the name of a launcher: small letters, digits and _, a letter first.
bool is_launcher_name(std::string_view text);

/// @throws InputError for a candidate that cannot be written down (run_time_call()) and for a name
/// that is none
Launcher launcher_of(const LauncherRequest& request);

/// The names of the extents, as members of the problem's struct.
std::vector<std::string> extent_names(const RunTimeCall& call);

/// A tensor's or region's name as the member of a struct: `do` is a word of C, so it is `do_`.
std::string member_name(const std::string& name);

/// Whether the kernels take the scale when they are launched.
bool takes_scale(const Call<ExtentFormula>& call);

// The two texts.
std::string header_text(const LauncherRequest& request, const Launcher& launcher);
std::string cuda_text(const LauncherRequest& request, const Launcher& launcher);

}  // namespace gla_bench
