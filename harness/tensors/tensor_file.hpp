#pragma once
// Real input: a problem whose tensors come from a .safetensors file
// (harness/tensors/safetensors.hpp).
//
// The file holds the operator's inputs by their names, in the problem's layout: for gla q, k and g
// as [B,T,H,K] and v as [B,T,H,V] (head_first: [B,H,T,K] and [B,H,T,V]), all of one dtype, and
// perhaps initial_state as float32 [B,H,K,V]; with cu_seqlens (int32) sequences are ragged. The
// extents are read off the tensors' shapes, whatever the operator. Other tensors are left alone.

#include "core/operator.hpp"
#include "core/problem.hpp"

namespace gla_bench {

/// Completes a problem from its file's header. `wanted` gives op, direction, options, layout,
/// scale, final_state, tensors (the path) and tensor_names. The function sets shape, dtype,
/// initial_state (whether the file has one) and gate ("file"). It reads no data, so that planning
/// is cheap.
/// @throws InputError naming the file, the tensor, what stood there and what was expected
Problem problem_from_file(const Operator& op, const Problem& wanted);

/// The same, with the operator found by its name.
Problem problem_from_file(const Problem& wanted);

/// The operator's inputs from the problem's file, in logical order.
/// @throws InputError for what problem_from_file() refuses, for a file that no longer has the
/// problem's shape or dtype, and for values: NaN anywhere, log decays above 0, infinities other
/// than -inf as a log decay or a log-sum-exp, cu_seqlens that fall or do not go from 0 to T
HostTensors read_inputs(const Operator& op, const Problem& problem);

/// read_inputs() where the problem names a file, the operator's draw() elsewhere.
HostTensors inputs_of(const Operator& op, const Problem& problem);

}  // namespace gla_bench
