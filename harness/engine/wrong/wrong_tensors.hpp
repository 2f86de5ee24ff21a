#pragma once
// Saves the tensors of a wrong row: inputs, outputs, reference and where they differ. They go into
// one .safetensors file that `exec` takes as input.

#include <optional>
#include <string>

#include "harness/config/config.hpp"
#include "harness/records/record.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {

/// The size in bytes of the file that write_wrong_tensors() would write, without its header.
double wrong_tensors_bytes(const ProblemTruth& truth);

/// A name for the row's file, made only of characters that every file system accepts. It holds
/// operator, variant, dtype and a hash of what was asked.
std::string wrong_tensors_name(const Record& record);

/// Writes <folder>/<name>.safetensors and makes missing folders. Inputs and outputs are stored
/// under their names, in their dtypes and the problem's layout. Each output o also has
/// "o.reference" (float32, rounded from float64) and "o.error", the relative L2 error of each
/// chunk, [B, H, chunks]. The metadata holds the record's command, fault and check, and says in
/// words how and where each output differs. Returns the path, or nothing where the file would be
/// larger than the policy allows.
/// @throws InputError where it cannot be written
std::optional<std::string> write_wrong_tensors(const KeepWrong& policy, const Record& record,
                                               const ProblemTruth& truth,
                                               const HostTensors& outputs);

}  // namespace gla_bench
