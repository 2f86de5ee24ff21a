#pragma once
// Problems drawn from one number: how a sweep with "random" lists its problems. Pure functions: the
// same seed gives the same problems everywhere.

#include <cstddef>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "harness/config/config.hpp"

namespace gla_bench {

/// Draws the sweep's problems, as `sweep.random` asks for. What kernels are compiled for (dims,
/// dtype, most options, whether sequences are ragged) comes from a few combinations, which problems
/// share; everything else is drawn for each problem.
///
/// With Cover::none problem i depends on the seed, the operator, its direction and i alone. There
/// are fewer problems than asked for where the operator does not have some of what the sweep's axes
/// allow. With Cover::pairs the combinations cover all pairs of values that kernels are compiled
/// for, and the problems all pairs of values.
DrawnProblems draw_problems(const Sweep& sweep, const Operator& op);

/// Two problems of the same text have the same kernels for the same tile.
std::string kernel_text(Problem problem);

}  // namespace gla_bench
