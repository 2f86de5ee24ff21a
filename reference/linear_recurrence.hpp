#pragma once
// The operators of the linear-recurrence family: S_t = decay_t (.) S_{t-1} + k_t v_t^T, read by
// q_t. linear_recurrence.cpp has one template over traits; a further operator of the family is a
// trait.

#include "harness/operator.hpp"

namespace gla_bench {

/// Gated linear attention: decay_t = exp(g_t), one per key dimension; o_t = scale S_t^T q_t, after
/// the update. q, k, g [B,T,H,K] and v, o [B,T,H,V] in the problem's dtype; initial_state and
/// final_state [B,H,K,V] in float32 where the problem has them. Default scale K^-0.5. Its functions
/// throw InputError for a regime that inputs.hpp lacks, std::out_of_range for a missing input.
Operator gla_operator();

}  // namespace gla_bench
