#pragma once
// Attention in blocks of queries and keys: the float64 reference and, in float32 with rounded
// operands, the plain computation that bounds are tied to.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention_problem.hpp"

namespace gla_bench::attention {

template <class Real>
using Outputs = std::map<std::string, std::vector<Real>>;

/// o and, where the view asks for it, lse. Real is double (no arithmetic) or float: operands q, k,
/// v and the weights exp(s - running maximum) are then rounded as the arithmetic has it, sums are
/// float32.
template <class Real>
Outputs<Real> forward(const View& view, std::optional<Arithmetic> arithmetic);

/// dq, dk, dv and dlog_decay where there are decays, from P = exp(s - lse) and D = do.o of the
/// given o and lse, dS = P (dP - D). Of the float form P and dS are rounded before their products
/// with do, k and q; dlog_decay adds up dS as it is.
template <class Real>
Outputs<Real> backward(const View& view, std::optional<Arithmetic> arithmetic);

}  // namespace gla_bench::attention
