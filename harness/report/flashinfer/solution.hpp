#pragma once
// Emitted kernels as Solutions of flashinfer-bench, and records as Traces.

#include <string>

#include "harness/emit/launcher.hpp"
#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"

namespace gla_bench::flashinfer {

/// The C++ text that gives the launcher to Python by TVM-FFI: a function run(), which takes the
/// definition's inputs, then its outputs.
std::string binding_text(const Operator& op, const Problem& problem, const Launcher& launcher);

/// A solution of the language cuda. `name` is its own, `definition` that of what it solves.
Json solution_of(const Operator& op, const Problem& problem, const Launcher& launcher,
                 const std::string& name, const std::string& definition, const std::string& about);

/// A record that is right and timed as a trace. Errors are this program's, against float64:
/// max_relative_error is the largest of an element over the larger of itself and the RMS,
/// max_absolute_error that of the worst element. There is no time of the reference.
Json trace_of(const Operator& op, const Record& record, const Facts& environment,
              const std::string& solution, const Json& workload);

}  // namespace gla_bench::flashinfer
