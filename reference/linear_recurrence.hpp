#pragma once
// The operators of the linear-recurrence family: S_t = decay_t (.) S_{t-1} + k_t v_t^T, read by
// q_t. linear_recurrence_traits.hpp says what tells the members apart.

#include <vector>

#include "core/operator.hpp"

namespace gla_bench {

/// linear_attention, retention, simple_gla, gla and rwkv6. q, k [B,T,H,K], v, o [B,T,H,V], the
/// log decays g or w ([B,T,H,K], simple_gla: [B,T,H]) and rwkv6's bonus u [H,K] are in the
/// problem's dtype; retention's log_decay [H] is float32; states are [B,H,K,V] in float32 or
/// bfloat16, a normalizer [B,H,K] in float32. Ragged (Shape::sequences = N > 0): B = 1, cu_seqlens
/// [N+1] in int32, and states of N in place of B. Default scale K^-0.5, rwkv6: 1. Their functions
/// throw InputError for a regime that inputs.hpp lacks, std::out_of_range for a missing input.
std::vector<Operator> linear_recurrence_operators();

}  // namespace gla_bench
