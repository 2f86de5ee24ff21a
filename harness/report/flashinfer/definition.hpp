#pragma once
// Problems as Definitions and Workloads of flashinfer-bench (https://bench.flashinfer.ai).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "harness/support/json.hpp"

namespace gla_bench::flashinfer {

/// Why a problem has no definition here; nothing where it has one.
std::optional<std::string> why_not_defined(const Problem& problem);

/// The name of a problem's definition, which problems share that differ in run-time extents and
/// inputs alone: "gla_forward_bfloat16_key_dim128_value_dim128".
std::string definition_name(const Operator& op, const Problem& problem);

/// The definition: axes, inputs (then "scale"), outputs, a reference in PyTorch.
Json definition_of(const Operator& op, const Problem& problem);

/// The reference's Python text: a function run(), which takes the inputs and returns the outputs.
std::string reference_text(const Operator& op, const Problem& problem);

/// A name for each axis of a tensor, in the order of its extents: that of an extent of the problem.
std::vector<std::string> axis_names(const Operator& op, const Problem& problem,
                                    const std::string& tensor);

/// The values of the axes that vary from problem to problem.
std::map<std::string, std::int64_t> variable_axes(const Operator& op, const Problem& problem);

/// The inputs that a workload has to carry, since N(0,1), which flashinfer-bench draws, is not what
/// they hold: gates and decays; all of them where the regime is not normal numbers.
std::vector<std::string> carried_inputs(const Operator& op, const Problem& problem);

/// A name for the problem in the form of a UUID, the same for the same problem.
std::string workload_uuid(const Problem& problem);

/// The workload, which reads the inputs that it carries from `path`, relative to the data set.
Json workload_of(const Operator& op, const Problem& problem, const std::string& path);

}  // namespace gla_bench::flashinfer
