#pragma once
// What a wrong row leaves behind: inputs, outputs, reference and where they differ, in one
// .safetensors file that `exec` takes as input.

#include <optional>
#include <string>

#include "harness/config/config.hpp"
#include "harness/records/record.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {

/// Bytes of the file that write_wrong_tensors() would write, without its header.
double wrong_tensors_bytes(const ProblemTruth& truth);

/// A name for the row's file, of letters that every file system takes: operator, variant, dtype and
/// a hash of what was asked.
std::string wrong_tensors_name(const Record& record);

/// Writes <folder>/<name>.safetensors; missing folders are made. Inputs and outputs by their names,
/// in their dtypes and the problem's layout; for each output o also "o.reference" (float32, rounded
/// from float64) and "o.error": the relative L2 error of each chunk, [B, H, chunks]. Metadata: the
/// record's command, fault and check, and of each output in words how and where it differs.
/// Returns the path; nothing where the file would be larger than the policy allows.
/// @throws InputError where it can not be written
std::optional<std::string> write_wrong_tensors(const KeepWrong& policy, const Record& record,
                                               const ProblemTruth& truth,
                                               const HostTensors& outputs);

}  // namespace gla_bench
