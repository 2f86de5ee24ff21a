#pragma once
// Results in the T4 format of the autotuning community, as Kernel Tuner, KTT and the
// autotuning_methodology share it (kernel_tuner/schema/T4/1.0.0/results-schema.json). What is
// written: configs/schema/t4.schema.json.

#include <span>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// False for records that have no place in it: of peers, and those of candidates that nothing was
/// done with (`built`, left out by a search).
bool has_t4_result(const Record& record);

/// One result per record that has a place. "configuration": the variant, its tile's axes, and the
/// problem as problem_* parameters. "runtimes": all samples with cold caches, in milliseconds as
/// every time here; empty where the time can not be believed (suspect). "correctness": 1 only where
/// the verification passed and nothing happened later. "invalidity": correct; correctness (wrong);
/// compile; runtime (an error, a crash, a suspect time); timeout; constraints (refused).
/// "measurements": the median as "time", each output's errors against float64 and their bounds,
/// bytes, energy, registers, and why it is invalid. @throws InputError for files of different
/// devices or backends, which T4 has no place for
Json t4_document(std::span<const Results> files);

}  // namespace gla_bench
