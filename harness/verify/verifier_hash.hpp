#pragma once
// Everything that a record's verdict depends on besides the candidate's own code, as one short text
// that is kept beside source_hash. A record that was judged by other rules, or compiled in another
// way, is stale too.

#include <functional>
#include <string>
#include <string_view>

#include "core/variant.hpp"
#include "harness/verify/tolerance.hpp"

namespace gla_bench {

/// Whether a source of the verifier takes part in the verdicts on an operator's candidates. Of the
/// references those of other operators do not (core/reference_folders.hpp); all else does.
bool verifies(std::string_view path, std::string_view op);

/// Two groups of 16 hexadecimal digits with a hyphen between them.
///
/// The first group covers what judges the operator's candidates: the code of verification, of the
/// operator's references on host and device, of the inputs that are drawn, and of the checks of
/// guard zones and untouched tensors. The list is in cmake/EmbedSources.cmake; comments, layout and
/// paths do not count. It also covers the tolerances' values.
///
/// The second group covers what compiles candidates of the backend. For CUDA that is NVRTC's
/// version and options, without the architecture, which belongs to the device. For the host it is
/// the version of the compiler that built the program, and its options except warnings. A program
/// without CUDA has "unknown" there for CUDA candidates.
std::string verifier_hash(BackendId backend, std::string_view op, const Tolerance& tolerance);

/// The same as a function of the operator's name. It forms each hash once.
std::function<std::string(const std::string& op)> verifier_hashes(BackendId backend,
                                                                  const Tolerance& tolerance);

enum class VerifierMatch {
  same,
  unknown,             ///< one of the two does not say
  other_verification,  ///< the first groups differ
  other_compiler       ///< only the second groups differ
};

/// Compares a record's text with today's. Records from before the field have an empty one. Where
/// one of the two knows no compiler, the verification alone is compared.
VerifierMatch match_verifier(std::string_view recorded, std::string_view today);

/// True where the two are known to differ.
bool differs(VerifierMatch match);

}  // namespace gla_bench
