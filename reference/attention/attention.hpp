#pragma once
// Softmax attention, with or without a decay between query and key: forward and backward.

#include "core/operator.hpp"

namespace gla_bench {

/// o_i = sum_j P_ij v_j, where P is the softmax of scale q_i.k_j over the keys j that query i sees.
/// q [B,T,H,K], k [B,Tk,Hk,K], v [B,Tk,Hk,V] and o [B,T,H,V] are in the problem's dtype. lse
/// [B,T,H] is float32 (natural log) and optional. Query i stands at key position i + Tk - T. With a
/// causal mask it sees the keys up to that position. A row that sees nothing has o = 0 and lse =
/// -inf. Query head h reads key head h / (H / Hk). The default scale is K^-0.5. The backward goes
/// from q, k, v, o, lse and do to dq, dk and dv. The functions throw std::out_of_range for a
/// missing input.
Operator attention_operator();

/// Attention that is always causal and adds c_i - c_j to the logits, where c = cumsum(log_decay)
/// along the key positions. log_decay is [B,Tk,H] in the problem's dtype (in float32 with
/// gate_dtype=float32) or, with decay=constant, [H] in float32. The lse includes this bias. -inf (a
/// full reset) is allowed. The backward also gives dlog_decay, always in float32.
Operator decay_attention_operator();

}  // namespace gla_bench
