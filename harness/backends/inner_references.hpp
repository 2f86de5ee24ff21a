#pragma once
// References of operators that contain another, whose own a backend computes on its device.

#include <optional>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// Operator::reference_around() with the inner operator by Backend::reference(). Nothing where the
/// operator contains none, or the backend does not compute one that it asks for.
std::optional<ReferenceTensors> reference_around(Backend& backend, const Operator& op,
                                                 const Problem& problem, const HostTensors& inputs);

/// The same of Operator::baseline_around().
std::optional<HostTensors> baseline_around(Backend& backend, const Operator& op,
                                           const Problem& problem, const HostTensors& inputs,
                                           Arithmetic arithmetic);

}  // namespace gla_bench
