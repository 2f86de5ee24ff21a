#pragma once
// Search spaces in the T1 format of the autotuning community ("ConfigurationSpace" with
// "TuningParameters" and "Conditions"), as Kernel Tuner, KTT and the BAT suite share them
// (kernel_tuner/schema/T1/1.0.0/input-schema.json). What is read of them:
// configs/schema/t1.schema.json.

#include <string>

#include "harness/config/tiles.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Reads the space of a T1 document as a narrowing of a variant's own space. Each parameter must be
/// one of the variant's axes, with values that the axis has. An axis that the document does not
/// name stays at its default, so that the resulting space is the document's. "Default", "Search",
/// "Budget", "General" and everything in "KernelSpecification" but its language are not read,
/// because the config has its own.
/// @throws InputError with the pointer, what stood there and what was expected
Narrowing read_t1(const JsonNode& document, const KnownAxes& known);

/// Does the same for a file. @throws InputError also for a file that cannot be read
Narrowing read_t1_file(const std::string& path, const KnownAxes& known);

}  // namespace gla_bench
