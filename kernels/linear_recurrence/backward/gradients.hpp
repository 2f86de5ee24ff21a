#pragma once
// What the descriptions of all backward variants have in common, on the GPU and on the host: their
// parameters and the bytes of what they read and write.

#include <string>
#include <vector>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/backward/params.h"

namespace gla_bench::linear_recurrence {

/// Workspace regions that GradientParams names: gradients of numerators and denominators, and what
/// each task adds to sums over the tokens of a head.
inline constexpr const char *outputs_region = "d_outputs", *sums_region = "sums";

/// Whether there are sums over the tokens of a head: du, or the gradient of a constant decay.
bool has_head_sums(const Problem& problem);

/// GradientParams as the bytes that a call takes. `regions`: the workspace, in the order of
/// LinearRecurrenceParams::work.
ParamBytes bind_gradients(const Problem& problem, const Address& address,
                          const std::vector<Region>& regions);

/// Bytes of a [K, V] state, with a normalizer's column, in float32.
double stored_state_bytes(const Problem& problem);

/// Bytes of do, or of the gradients of outputs and denominators that a normalizer needs.
double output_gradient_bytes(const Problem& problem);

/// Bytes of dq, dk, dv, and of the gradients of gates, bonus and initial state.
double gradient_bytes(const Problem& problem);

/// What one pass over a problem's inputs reads for the backward of each token: q, k, gates, v, do.
double token_gradient_reads(const Problem& problem);

/// Bytes that the kept gradients of outputs take, where there are any.
double kept_output_bytes(const Problem& problem);

}  // namespace gla_bench::linear_recurrence
