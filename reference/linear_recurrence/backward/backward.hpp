#pragma once
// The backward of the linear-recurrence family: the gradients of every input, from the gradients of
// the outputs. The tensors are named after those of the forward: do is the gradient of o, and dq
// that of q.
//
// With D_t the gradient of S_t, and the decay of token t written e_t, for members that read the
// state after the update:
//   D_t = scale q_t do_t^T + diag(e_{t+1}) D_{t+1}, the last one also + dfinal_state,
//   dq_t = scale S_t do_t, dk_t = D_t v_t, dv_t = D_t^T k_t,
//   dg_t = sum over v of D_t (.) diag(e_t) S_{t-1}, dinitial_state = diag(e_1) D_1.
// For members that read before the update, D_t is what comes from later tokens alone, dq_t reads
// S_{t-1}, and the bonus adds scale (do_t.v_t) (u k_t, u q_t, q_t k_t) to (dq_t, dk_t, du) and
// scale (sum u q k) do_t to dv_t.
//
// A normalized output is a quotient of two outputs of the same recurrence: v has one more column,
// which is 1 throughout, so that the state's is the normalizer and the output's the denominator.
// With do' = do / denominator, that column's gradient is -(do'.o).
//
// A gate whose decay is 0 (-inf) has the gradient 0, which is the limit. A constant decay's
// gradient is the sum over its tokens.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/linear_recurrence/traits.hpp"

namespace gla_bench::recurrence {

/// The tensors of the backward, from those of the forward: its inputs, the gradients of its outputs
/// (inputs), and the gradients of its inputs (outputs). Training has the outputs as well. Gradients
/// of gates, the bonus and normalizers are float32, all others have their tensor's dtype.
std::vector<TensorSpec> backward_tensors(const Traits& traits, const Problem& problem,
                                         const std::vector<TensorSpec>& forward);

/// Why there is no backward of the problem, which has a forward; or nothing.
std::optional<std::string> refuse_backward(const Traits& traits, const Problem& problem);

/// Makes the rows of do zero whose rows of q are, as they are of padded tokens. Their denominators
/// are epsilon, by which any other gradient would be divided.
void pad_gradients(const Problem& problem, HostTensors& inputs);

/// The gradients that backward_tensors() lists, all zero.
template <class Real>
std::map<std::string, std::vector<Real>> empty_gradients(const std::vector<TensorSpec>& tensors) {
  std::map<std::string, std::vector<Real>> gradients;
  for (const TensorSpec& spec : tensors)
    if (spec.role == TensorSpec::Role::output)
      gradients[spec.name].resize(static_cast<std::size_t>(spec.elements()));
  return gradients;
}

/// TensorSpec::sum_size of the gradients of decays that keys share. That of a constant decay is a sum
/// of (i - j) exp((i - j) log_decay) scale (q_i.k_j) (do_i.v_j) over all pairs of tokens, and of the
/// like with states. That of a token's decay has the terms of the pairs with the token between, once
/// each. What is left of such a sum may be near zero by chance, and there is one number for each
/// head, or for each token and head.
std::map<std::string, double> sum_sizes(const Traits& traits, const Problem& problem,
                                        const HostTensors& inputs);

/// The definition in float64: the recurrence forwards, then backwards.
ReferenceTensors backward(const Traits& traits, const Problem& problem, const HostTensors& inputs);

/// The plain computation: the same in float32, with the operands of products rounded to what the
/// arithmetic keeps. What sums over the tokens of a head is one running sum in float32: du token by
/// token, and the gradient of a constant decay product by product.
HostTensors plain_backward(const Traits& traits, const Problem& problem, const HostTensors& inputs,
                           Arithmetic arithmetic);

/// The second form: every pair of a token that writes and one that reads, and every gate between
/// them. No state is formed.
ReferenceTensors second_backward(const Traits& traits, const Problem& problem,
                                 const HostTensors& inputs);

}  // namespace gla_bench::recurrence
