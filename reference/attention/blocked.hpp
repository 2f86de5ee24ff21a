#pragma once
// Attention in blocks of queries and keys. In float64 it is the reference. In float32 with rounded
// operands it is the plain computation whose error sets the bounds.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

template <class Real>
using Outputs = std::map<std::string, std::vector<Real>>;

/// Computes o and, where the view asks for it, lse. Real is double (without an arithmetic) or
/// float. The float form rounds the operands q, k, v and the weights exp(s - running maximum) as
/// the arithmetic does, and its sums are float32.
template <class Real>
Outputs<Real> forward(const View& view, std::optional<Arithmetic> arithmetic);

/// Computes dq, dk, dv and, where there are decays, dlog_decay, from the given o and lse. It uses P
/// = exp(s - lse), D = do.o and dS = P (dP - D). The float form rounds P and dS before their
/// products with do, k and q. dlog_decay sums dS without rounding it.
template <class Real>
Outputs<Real> backward(const View& view, std::optional<Arithmetic> arithmetic);

/// D_i = do_i.o_i [B,T,H], summed in Real.
template <class Real>
std::vector<Real> row_terms(const View& view);

/// The sums of dS that the gradients of the log decays consist of.
template <class Real>
struct DecaySums {
  std::vector<Real> rows;       ///< over the keys [B,H,T]
  std::vector<Real> columns;    ///< over the queries [B,H,Tk]
  std::vector<Real> distances;  ///< of (position - key) dS [B,H, blocks of 64 queries]

  /// All sums are zero. They are empty where there are no decays.
  explicit DecaySums(const View& view);
};

/// dlog_decay: for each token t the sum of dS over the pairs j < t <= i. It equals the sum of
/// (column sum - row sum) over the positions before t. The sum runs from the front, so that the
/// keys before the first query add up only their own terms. From the back, the small gradients
/// there would be differences of large sums. For a constant decay, the gradient is the sum of the
/// distances.
template <class Real>
std::vector<Real> decay_gradients(const View& view, const DecaySums<Real>& sums);

}  // namespace gla_bench::attention
