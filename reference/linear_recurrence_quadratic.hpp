#pragma once
// A second, independent form of the linear-recurrence family in float64, to check the first.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "harness/operator.hpp"

namespace gla_bench::linear_recurrence {

/// Sums of gates over token ranges without inf - inf: a prefix counts the -inf gates apart from the
/// sum of the finite ones, and a range that holds one has decayed to nothing.
struct GatePrefix {
  std::vector<double> sum;        // [T+1, K]
  std::vector<std::int64_t> cut;  // [T+1, K]
  std::int64_t keys = 0;

  template <class Traits>
  static GatePrefix of(const Shape& s, const float* gate, std::int64_t b, std::int64_t h) {
    GatePrefix p;
    p.keys = s.key_dim;
    p.sum.resize(static_cast<std::size_t>((s.seq + 1) * p.keys));
    p.cut.resize(p.sum.size());
    for (std::int64_t t = 0; t < s.seq; ++t)
      for (std::int64_t i = 0; i < p.keys; ++i) {
        const double g = gate[Traits::gate_index(s, (b * s.seq + t) * s.heads + h, i)];
        const bool reset = g == -std::numeric_limits<double>::infinity();
        p.sum[(t + 1) * p.keys + i] = p.sum[t * p.keys + i] + (reset ? 0.0 : g);
        p.cut[(t + 1) * p.keys + i] = p.cut[t * p.keys + i] + (reset ? 1 : 0);
      }
    return p;
  }

  /// exp of the sum of the gates of tokens [from, to).
  double decay(std::int64_t from, std::int64_t to, std::int64_t key) const {
    if (cut[to * keys + key] != cut[from * keys + key]) return 0.0;
    return std::exp(sum[to * keys + key] - sum[from * keys + key]);
  }
};

/// The operator as a masked quadratic form, for one (batch, head) pair:
/// o_t = scale sum_{j<=t} (q_t . (k_j (.) decay of tokens j+1..t)) v_j, plus what is left of the
/// initial state. Shares nothing with the recurrence.
template <class Traits>
void quadratic(const Problem& problem, const HostTensors& inputs, std::int64_t b, std::int64_t h,
               ReferenceTensors& outputs) {
  const Shape& s = problem.shape;
  const double scale = problem.scale.value_or(Traits::default_scale(s));
  const float *q = inputs.at("q").data(), *k = inputs.at("k").data(), *v = inputs.at("v").data();
  const float* initial = problem.initial_state ? inputs.at("initial_state").data() : nullptr;
  const auto prefix = GatePrefix::of<Traits>(s, inputs.at(std::string(Traits::gate)).data(), b, h);
  const std::int64_t state_at = (b * s.heads + h) * s.key_dim * s.value_dim;
  const auto token = [&](std::int64_t t) { return (b * s.seq + t) * s.heads + h; };
  for (std::int64_t t = 0; t < s.seq; ++t) {
    double* o = outputs.at("o").data() + token(t) * s.value_dim;
    const float* query = q + token(t) * s.key_dim;
    for (std::int64_t j = 0; j <= t; ++j) {
      double score = 0;
      for (std::int64_t i = 0; i < s.key_dim; ++i)
        score += static_cast<double>(query[i]) * k[token(j) * s.key_dim + i] *
                 prefix.decay(j + 1, t + 1, i);
      for (std::int64_t e = 0; e < s.value_dim; ++e)
        o[e] += scale * score * v[token(j) * s.value_dim + e];
    }
    for (std::int64_t i = 0; initial && i < s.key_dim; ++i)
      for (std::int64_t e = 0; e < s.value_dim; ++e)
        o[e] +=
            scale * query[i] * prefix.decay(0, t + 1, i) * initial[state_at + i * s.value_dim + e];
  }
  if (!problem.final_state) return;
  double* last = outputs.at("final_state").data() + state_at;
  for (std::int64_t i = 0; i < s.key_dim; ++i)
    for (std::int64_t e = 0; e < s.value_dim; ++e) {
      double sum =
          initial ? prefix.decay(0, s.seq, i) * initial[state_at + i * s.value_dim + e] : 0.0;
      for (std::int64_t t = 0; t < s.seq; ++t)
        sum += prefix.decay(t + 1, s.seq, i) * k[token(t) * s.key_dim + i] *
               v[token(t) * s.value_dim + e];
      last[i * s.value_dim + e] = sum;
    }
}

}  // namespace gla_bench::linear_recurrence
