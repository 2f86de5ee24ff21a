#pragma once
// Softmax attention, with or without a decay between query and key: forward and backward.

#include "core/operator.hpp"

namespace gla_bench {

/// o_i = sum_j P_ij v_j with P the softmax over the keys j that query i sees of scale q_i.k_j.
/// q [B,T,H,K], k [B,Tk,Hk,K], v [B,Tk,Hk,V], o [B,T,H,V] in the problem's dtype, lse [B,T,H] in
/// float32 (natural log) on request. Query i stands at key position i + Tk - T and, where causal,
/// sees the keys up to it; a row that sees nothing has o = 0 and lse = -inf. Query head h reads key
/// head h / (H / Hk). Default scale K^-0.5. Backward: from q, k, v, o, lse and do to dq, dk, dv.
/// Its functions throw std::out_of_range for a missing input.
Operator attention_operator();

/// The same, always causal, with c_i - c_j added to the logits, c = cumsum(log_decay) along the key
/// positions: log_decay [B,Tk,H] in the problem's dtype or, with decay=constant, float32 [H]. The
/// bias counts in lse. -inf (a full reset) is legal. Backward: dlog_decay besides, float32.
Operator decay_attention_operator();

}  // namespace gla_bench
