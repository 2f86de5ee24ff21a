#pragma once
// The gated linear attention layer, which maps activations of a model to activations.

#include <cstdint>

#include "core/operator.hpp"

namespace gla_bench {

/// The number of columns of W_1 and of rows of W_2, the two narrow matrices of the gate.
inline constexpr std::int64_t gla_layer_rank = 16;

/// Added to the variance in the norm over the outputs of a head.
inline constexpr double gla_layer_epsilon = 1e-5;

/// Y = (swish(x W_r + b_r) (.) LN(o)) W_O, where o = gla(q, k, v, g) with q, k, v = x W_q, x W_k, x
/// W_v and g = logsigmoid((x W_1) W_2 + b_g) / divisor. swish(r) = r sigmoid(r). LN normalises the
/// V values of a token's head, with epsilon 1e-5. It has no weight and no bias, as in the layer's
/// source (a weight could be part of W_O).
///
/// x, y [B,T,d]; w_q, w_k [d,H*K]; w_v, w_r [d,H*V]; w_1 [d,16]; w_2 [16,H*K]; b_g [H*K]; b_r
/// [H*V]; w_o [H*V,d]. All are in the problem's dtype. States are as for gla. The option
/// gate_divisor is 16, or 1 for the source's own formula.
///
/// The five projections of x, and g, are tensors of the problem's dtype. The float64 computation
/// rounds them to it, because gla and the kernels after it read these rounded tensors. Everything
/// else stays in float64. (Without this rounding, a correct layer in bfloat16 would exceed that
/// dtype's cap, because seven roundings of 1.7e-3 add up.)
///
/// Regimes set b_g.
/// - mild: b ~ N(0, 1/4), gates as after initialisation
/// - none: b = 100, so g = 0 up to 1e-43
/// - strong: b = -32, so g is about -2, or -32 with divisor 1
/// - per_channel: a quarter of the channels as in none, a quarter with b = -100, the others mild
/// In a backward, and in training, gates are weaker. Where a token sees little but itself, o is v
/// times a number, which the norm removes, and gradients of queries are differences of equal
/// numbers: at g = -2 the plain computation had three times the cap of bfloat16. So strong is about
/// -0.1 (b = -1.2, or 2.3 with divisor 1) and mild about -0.05 (with divisor 1, b ~ 2.7 + N(0,
/// 1/4)). In none and in open channels b = 8, because the slope of the logsigmoid at 100 is below
/// what float32 holds. Weights are N(0,1) divided by the square root of the product's inner length.
/// w_k is correlated with w_q, so that the norm is well conditioned in every regime. The functions
/// throw InputError for another regime and std::out_of_range for a missing input.
Operator gla_layer_operator();

}  // namespace gla_bench
