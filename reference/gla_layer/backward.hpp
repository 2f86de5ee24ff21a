#pragma once
// The backward of the GLA layer: the gradients of all its inputs, from those of y and of the final
// state. It is given the layer's inputs alone, so that it computes q, k, v, g, r and o once more.
//
// With n = LN(o), f = 1 / sqrt(variance + epsilon), a = r + b_r, z = low W_2 + b_g:
//   dgated = dy W_O^T, dW_O = gated^T dy,
//   dr = dgated (.) n (.) swish'(a), dn = dgated (.) swish(a),
//   do = f (dn - mean(dn) - n mean(dn (.) n)), the means over the V values of a token's head,
//   dq, dk, dv, dg, dinitial_state = the backward of gla,
//   dz = dg (.) sigmoid(-z) / divisor, dlow = dz W_2^T, dW_2 = low^T dz, db_g = sum of dz,
//   dx = dq W_q^T + dk W_k^T + dv W_v^T + dr W_r^T + dlow W_1^T, dW = x^T (dq, dk, dv, dr, dlow),
//   db_r = sum of dr, the sums over all tokens.
//
// The stages of the forward are rounded as in the forward, and the rounding counts as no function
// of its own. dgated and do are tensors of the problem's dtype as well. All else stays in float64.

#include <optional>
#include <string>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench::gla_layer_forms {

/// The inputs of the forward, the gradients of its outputs, and those of its inputs. Training has
/// the outputs as well. Gradients of weights and biases are float32: they are sums over all tokens.
/// That of x has the dtype of x.
std::vector<TensorSpec> backward_tensors(const Problem& problem,
                                         const std::vector<TensorSpec>& forward);

/// Operations of the least form: one of each product of the forward but the last, two for the
/// gradients of each product, o, and the backward of gla. In training those of its second pass,
/// for which the first has left the products, o and the states of gla.
double backward_flops(const Problem& problem);

/// Why there is no backward of the problem, which has a forward; or nothing.
std::optional<std::string> refuse_backward(const Problem& problem);

/// With gla as `inner` computes it.
ReferenceTensors backward(const Problem& problem, const HostTensors& inputs,
                          const References& inner);

/// The same in float32, with the operands of products rounded to what the arithmetic keeps, and
/// with all tensors between the stages but dg in the dtype.
HostTensors plain_backward(const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic,
                           const References& inner);

/// The gradients in plain loops from the end, by the second forms of gla, with the norm's matrix
/// of derivatives written out.
ReferenceTensors second_backward(const Problem& problem, const HostTensors& inputs);

}  // namespace gla_bench::gla_layer_forms
