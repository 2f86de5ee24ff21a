#pragma once
// The gated linear attention layer: from a model's activations to its activations.

#include <cstdint>

#include "core/operator.hpp"

namespace gla_bench {

/// Columns of W_1 and rows of W_2: the gate's product of two narrow matrices.
inline constexpr std::int64_t gla_layer_rank = 16;

/// Added to the variance where the outputs of a head are normalised.
inline constexpr double gla_layer_epsilon = 1e-5;

/// Y = (swish(x W_r + b_r) (.) LN(o)) W_O, where o = gla(q, k, v, g) with q, k, v = x W_q, x W_k,
/// x W_v and g = logsigmoid((x W_1) W_2 + b_g) / divisor; swish(r) = r sigmoid(r); LN over the V
/// values of a token's head, with epsilon 1e-5 and neither weight nor bias, as the layer's source
/// has it (a weight could be part of W_O).
///
/// x, y [B,T,d]; w_q, w_k [d,H*K]; w_v, w_r [d,H*V]; w_1 [d,16]; w_2 [16,H*K]; b_g [H*K]; b_r
/// [H*V]; w_o [H*V,d] in the problem's dtype; states as for gla. Option gate_divisor: 16, or 1, the
/// source's own formula.
///
/// The five projections of x and g are tensors of the problem's dtype, rounded to it in float64's
/// chain as everywhere: they are what gla and the kernels behind it take. All else is float64. (The
/// chain without them: a right layer in bfloat16 is off by more than that dtype's cap, since seven
/// roundings of 1.7e-3 add up.)
///
/// Regimes set b_g: mild (b ~ N(0, 1/4), gates as after initialisation), none (b = 100: g = 0 up to
/// 1e-43), strong (b = -32: g = -2 or so, -32 with divisor 1), per_channel (a quarter of the
/// channels as in none, a quarter with b = -100, the others mild).
/// Weights are N(0,1) over the root of the product's length; w_k leans on w_q, so that the norm is
/// well conditioned in every regime.
/// Its functions throw InputError for another regime, std::out_of_range for a missing input.
Operator gla_layer_operator();

}  // namespace gla_bench
