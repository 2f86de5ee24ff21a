#pragma once
// The gradients that a problem of attention has.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// dq [B,T,H,K], dk [B,Tk,Hk,K], dv [B,Tk,Hk,V] and, with decays, dlog_decay, all zero. Of a form
/// that is not ragged.
template <class Real>
std::map<std::string, std::vector<Real>> zero_gradients(const Form& form) {
  const auto zeros = [](std::int64_t elements) {
    return std::vector<Real>(static_cast<std::size_t>(elements));
  };
  const std::int64_t keys = form.batch * form.key_seq * form.key_heads;
  std::map<std::string, std::vector<Real>> gradients{
      {"dq", zeros(form.pairs() * form.seq * form.keys)},
      {"dk", zeros(keys * form.keys)},
      {"dv", zeros(keys * form.values)}};
  if (form.has_decays) gradients["dlog_decay"] = zeros(form.decay_gradients());
  return gradients;
}

}  // namespace gla_bench::attention
