#pragma once
// Results in the T4 format of the autotuning community, as Kernel Tuner, KTT and the
// autotuning_methodology share it (kernel_tuner/schema/T4/1.0.0/results-schema.json). What is
// written: configs/schema/t4.schema.json.

#include <span>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// False for records that have no place in it: those of peers, and those of candidates that were
/// not run (`built`, or left out by a search).
bool has_t4_result(const Record& record);

/// One result for each record that has a place. "configuration": the variant, its tile's axes, and
/// the problem as problem_* parameters. "runtimes": all samples with cold caches, in milliseconds
/// like every time here; empty where the time is not credible (suspect). "correctness": 1 only
/// where the verification passed and nothing failed later. "invalidity": correct; correctness
/// (wrong); compile; runtime (an error, a crash, a suspect time); timeout; constraints (refused).
/// "measurements": the median as "time", each output's errors against float64 and their bounds,
/// bytes, energy, registers, and why it is invalid. @throws InputError for files of different
/// devices or backends, since a T4 file holds only one
Json t4_document(std::span<const Results> files);

}  // namespace gla_bench
