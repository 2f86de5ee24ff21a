#pragma once
// The operators of the linear-recurrence family: S_t = decay_t (.) S_{t-1} + k_t v_t^T, read by
// q_t. linear_recurrence_traits.hpp states how the members differ.

#include <vector>

#include "core/operator.hpp"

namespace gla_bench {

/// linear_attention, retention, simple_gla, gla and rwkv6. q, k [B,T,H,K], v, o [B,T,H,V], the log
/// decays g or w ([B,T,H,K], for simple_gla [B,T,H]) and rwkv6's bonus u [H,K] are in the problem's
/// dtype. retention's log_decay [H] is float32. States are [B,H,K,V] in float32 or bfloat16, and a
/// normalizer is [B,H,K] in float32. For ragged sequences (Shape::sequences = N > 0), B = 1,
/// cu_seqlens is [N+1] in int32, and states have N in place of B. The default scale is K^-0.5, for
/// rwkv6 1. The functions throw InputError for a regime that inputs.hpp lacks and std::out_of_range
/// for a missing input.
std::vector<Operator> linear_recurrence_operators();

}  // namespace gla_bench
