#pragma once
// Attention in blocks of queries and keys: the float64 reference and, in float32 with rounded
// operands, the plain computation that bounds are tied to.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention/problem.hpp"

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

/// D_i = do_i.o_i [B,T,H], summed up in Real.
template <class Real>
std::vector<Real> row_terms(const View& view);

/// Sums of dS that the log decays' gradients are made of.
template <class Real>
struct DecaySums {
  std::vector<Real> rows;       ///< over the keys [B,H,T]
  std::vector<Real> columns;    ///< over the queries [B,H,Tk]
  std::vector<Real> distances;  ///< of (position - key) dS [B,H, blocks of 64 queries]

  /// All zero, and empty where there are no decays.
  explicit DecaySums(const View& view);
};

/// dlog_decay: per token t the sum of dS over the pairs j < t <= i, which is that of (column sum -
/// row sum) over the positions before t. From the front, because the keys before the first query
/// then add up what is theirs alone; from the back the small gradients there would be differences
/// of large sums. Of a constant decay it is the sum of the distances.
template <class Real>
std::vector<Real> decay_gradients(const View& view, const DecaySums<Real>& sums);

}  // namespace gla_bench::attention
