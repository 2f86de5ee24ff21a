#pragma once
// A second, independent form of the linear-recurrence family in float64, to check the first.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/operator.hpp"
#include "reference/linear_recurrence/traits.hpp"

namespace gla_bench::recurrence {

/// Sums of log decays over ranges of a sequence's tokens, without inf - inf. A prefix counts the
/// -inf gates separately from the sum of the finite ones. A range that contains one has decayed to
/// zero. Tokens are numbered from the start of the sequence.
struct GatePrefix {
  std::vector<double> sum;        // [T+1, K]
  std::vector<std::int64_t> cut;  // [T+1, K]
  std::int64_t keys = 0;

  GatePrefix(const View& view, const Range& tokens, std::int64_t head) : keys(view.keys) {
    const std::int64_t count = tokens.last - tokens.first;
    sum.resize(static_cast<std::size_t>((count + 1) * keys));
    cut.resize(sum.size());
    for (std::int64_t t = 0; t < count; ++t)
      for (std::int64_t i = 0; i < keys; ++i) {
        const double g = view.log_decay<double>(tokens.first + t, head, i);
        const bool reset = g == -std::numeric_limits<double>::infinity();
        sum[(t + 1) * keys + i] = sum[t * keys + i] + (reset ? 0.0 : g);
        cut[(t + 1) * keys + i] = cut[t * keys + i] + (reset ? 1 : 0);
      }
  }

  /// exp of the sum of the gates of tokens [from, to).
  double decay(std::int64_t from, std::int64_t to, std::int64_t key) const {
    if (cut[to * keys + key] != cut[from * keys + key]) return 0.0;
    return std::exp(sum[to * keys + key] - sum[from * keys + key]);
  }
};

/// The operator as a masked quadratic form, for one (sequence, head) pair: o_t = scale sum_{j<=t}
/// (q_t . (k_j (.) decay of tokens j+1..t)) v_j, plus what is left of the initial state. For
/// members that read the state before the update, the decay ends at t-1 and the token itself enters
/// through its bonus. A normalized o_t is divided by the sum of its scores. This form shares
/// nothing with the recurrence except the indexing of inputs.
class Quadratic {
 public:
  Quadratic(const View& view, std::int64_t sequence, std::int64_t head)
      : view_(view),
        sequence_(sequence),
        head_(head),
        tokens_(view.tokens(sequence)),
        prefix_(view, tokens_, head) {}

  std::int64_t count() const { return tokens_.last - tokens_.first; }

  void output(std::int64_t t, double* o) const {
    const std::int64_t behind = view_.before_update ? t : t + 1;  // of the last decay
    double divisor = 0;
    for (std::int64_t j = 0; j <= t; ++j) {
      double score = 0;
      for (std::int64_t i = 0; i < view_.keys; ++i)
        score += query(t, i) * key(j, i) *
                 (view_.before_update && j == t ? view_.bonus[head_ * view_.keys + i]
                                                : prefix_.decay(j + 1, behind, i));
      divisor += score;
      for (std::int64_t e = 0; e < view_.values; ++e) o[e] += view_.scale * score * value(j, e);
    }
    for (std::int64_t i = 0; view_.initial_state && i < view_.keys; ++i) {
      const double factor = query(t, i) * prefix_.decay(0, behind, i);
      for (std::int64_t e = 0; e < view_.values; ++e)
        o[e] += view_.scale * factor * initial_state(i, e);
      if (view_.normalize) divisor += factor * initial_normalizer(i);
    }
    for (std::int64_t e = 0; view_.normalize && e < view_.values; ++e)
      o[e] /= view_.scale * divisor + normalizer_epsilon;
  }

  /// Adds the state [K,V] after the first `end` tokens, as if there were no others.
  void state(std::int64_t end, double* s) const {
    for (std::int64_t i = 0; i < view_.keys; ++i, s += view_.values) {
      const double left = prefix_.decay(0, end, i);
      for (std::int64_t e = 0; view_.initial_state && e < view_.values; ++e)
        s[e] += left * initial_state(i, e);
      for (std::int64_t t = 0; t < end; ++t) {
        const double factor = prefix_.decay(t + 1, end, i) * key(t, i);
        for (std::int64_t e = 0; e < view_.values; ++e) s[e] += factor * value(t, e);
      }
    }
  }

  /// Adds the normalizer [K] after the first `end` tokens.
  void normalizer(std::int64_t end, double* z) const {
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      if (view_.initial_normalizer) z[i] += prefix_.decay(0, end, i) * initial_normalizer(i);
      for (std::int64_t t = 0; t < end; ++t) z[i] += prefix_.decay(t + 1, end, i) * key(t, i);
    }
  }

 private:
  std::int64_t key_at(std::int64_t t) const { return view_.key_at(tokens_.first + t, head_); }
  double query(std::int64_t t, std::int64_t i) const {
    return view_.feature<double>(view_.q[key_at(t) + i]);
  }
  double key(std::int64_t t, std::int64_t i) const {
    return view_.feature<double>(view_.k[key_at(t) + i]);
  }
  double value(std::int64_t t, std::int64_t e) const {
    return view_.v[view_.value_at(tokens_.first + t, head_) + e];
  }
  double initial_state(std::int64_t i, std::int64_t e) const {
    return view_.initial_state[view_.state_at(sequence_, head_) + i * view_.values + e];
  }
  double initial_normalizer(std::int64_t i) const {
    return view_.initial_normalizer[view_.normalizer_at(sequence_, head_) + i];
  }

  const View& view_;
  std::int64_t sequence_, head_;
  Range tokens_;
  GatePrefix prefix_;
};

/// Fills one pair's part of every output. The outputs must be zero on entry.
inline void quadratic(const View& view, std::int64_t sequence, std::int64_t head,
                      ReferenceTensors& outputs) {
  const Quadratic form(view, sequence, head);
  const Range tokens = view.tokens(sequence);
  for (std::int64_t t = 0; t < form.count(); ++t)
    form.output(t, outputs.at("o").data() + view.value_at(tokens.first + t, head));
  const auto state_after = [&](std::int64_t end, std::int64_t place, const char* states,
                               const char* normalizers) {
    form.state(end, outputs.at(states).data() + view.state_at(place, head));
    if (view.normalize)
      form.normalizer(end, outputs.at(normalizers).data() + view.normalizer_at(place, head));
  };
  const Range places = view.places(sequence);
  for (std::int64_t place = places.first; place < places.last; ++place)
    state_after(std::min((place + 1 - places.first) * view.every, form.count()), place, "states",
                "normalizers");
  if (outputs.contains("final_state"))
    state_after(form.count(), sequence, "final_state", "final_normalizer");
}

}  // namespace gla_bench::recurrence
