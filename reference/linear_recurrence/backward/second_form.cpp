// The second form of the backward: pairs of a token that writes and one that reads.
//
// o_i = sum_j scale (sum_k q_ik k_jk E_ijk) v_j, where E is the decay between the tokens. Each pair
// adds its part to dq_i, dk_j, dv_j and to every gate in between. The initial state is what a token
// before the first one wrote, and the final state what a token behind the last one reads.

#include <algorithm>
#include <cmath>

#include "reference/linear_recurrence/backward/backward.hpp"
#include "reference/linear_recurrence/quadratic.hpp"

namespace gla_bench::recurrence {
namespace {

using Column = std::vector<double>;

class Pairs {
 public:
  Pairs(const Traits& traits, const View& view, std::int64_t sequence, std::int64_t head,
        ReferenceTensors& gradients)
      : view_(view),
        sequence_(sequence),
        head_(head),
        tokens_(view.tokens(sequence)),
        prefix_(view, tokens_, head),
        gradients_(gradients),
        dq_(find("q")),
        dk_(find("k")),
        dv_(find("v")),
        d_gate_(find(std::string(traits.gate))),
        du_(find("u")),
        d_initial_(find("initial_state")),
        d_initial_sum_(find("initial_normalizer")) {}

  void run() {
    form_output_gradients();
    for (std::int64_t i = 0; i < count(); ++i) {
      for (std::int64_t j = 0; j <= i; ++j) two_tokens(i, j);
      initial_state_read(i);
      if (view_.d_final_state) final_state_of(i);
    }
    if (view_.initial_state && view_.d_final_state) final_state_of_initial();
  }

 private:
  std::int64_t count() const { return tokens_.last - tokens_.first; }
  std::int64_t row(std::int64_t t) const { return tokens_.first + t; }
  std::int64_t key_at(std::int64_t t) const { return view_.key_at(row(t), head_); }
  double q(std::int64_t t, std::int64_t i) const {
    return view_.feature<double>(view_.q[key_at(t) + i]);
  }
  double k(std::int64_t t, std::int64_t i) const {
    return view_.feature<double>(view_.k[key_at(t) + i]);
  }
  double v(std::int64_t t, std::int64_t e) const {
    return view_.v[view_.value_at(row(t), head_) + e];
  }
  double element(const float* states, std::int64_t i, std::int64_t e) const {
    return states[view_.state_at(sequence_, head_) + i * view_.values + e];
  }
  double sum(const float* normalizers, std::int64_t i) const {
    return normalizers[view_.normalizer_at(sequence_, head_) + i];
  }
  // Behind the last gate that decays what token t reads.
  std::int64_t behind(std::int64_t t) const { return view_.before_update ? t : t + 1; }

  // The gradients of the numerators and of the denominators.
  void form_output_gradients() {
    const Quadratic form(view_, sequence_, head_);
    numerators_.resize(static_cast<std::size_t>(count() * view_.values));
    denominators_.assign(static_cast<std::size_t>(count()), 0.0);
    for (std::int64_t t = 0; t < count(); ++t) {
      const float* d_o = view_.d_o + view_.value_at(row(t), head_);
      double divisor = 1;
      if (view_.normalize) {
        Column o(static_cast<std::size_t>(view_.values));
        form.output(t, o.data());
        divisor = denominator(t);
        for (std::int64_t e = 0; e < view_.values; ++e) denominators_[t] -= d_o[e] * o[e] / divisor;
      }
      for (std::int64_t e = 0; e < view_.values; ++e)
        numerators_[t * view_.values + e] = d_o[e] / divisor;
    }
  }

  double denominator(std::int64_t t) const {
    double total = 0;
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      for (std::int64_t j = 0; j <= t; ++j)
        total += q(t, i) * k(j, i) * prefix_.decay(j + 1, behind(t), i);
      if (view_.initial_normalizer)
        total += q(t, i) * prefix_.decay(0, behind(t), i) * sum(view_.initial_normalizer, i);
    }
    return view_.scale * total + normalizer_epsilon;
  }

  double numerator(std::int64_t t, std::int64_t e) const {
    return numerators_[t * view_.values + e];
  }

  // Where a gradient is, or null where it is not asked for.
  double* find(const std::string& name) {
    const auto found = gradients_.find("d" + name);
    return found == gradients_.end() ? nullptr : found->second.data();
  }
  void add_query(std::int64_t t, std::int64_t i, double x) {
    dq_[key_at(t) + i] += x * view_.feature_slope<double>(view_.q[key_at(t) + i]);
  }
  void add_key(std::int64_t t, std::int64_t i, double x) {
    dk_[key_at(t) + i] += x * view_.feature_slope<double>(view_.k[key_at(t) + i]);
  }
  void add_value(std::int64_t t, std::int64_t e, double x) {
    dv_[view_.value_at(row(t), head_) + e] += x;
  }
  void add_initial(std::int64_t i, std::int64_t e, double x) {
    d_initial_[view_.state_at(sequence_, head_) + i * view_.values + e] += x;
  }
  void add_initial_sum(std::int64_t i, double x) {
    d_initial_sum_[view_.normalizer_at(sequence_, head_) + i] += x;
  }
  // Adds to the gates of tokens [from, to) for state row i.
  void add_gates(std::int64_t from, std::int64_t to, std::int64_t i, double x) {
    if (view_.decay == Decay::per_head && from < to)
      d_gate_[head_] += static_cast<double>(to - from) * x;
    for (std::int64_t t = from; t < to; ++t) {
      if (view_.decay == Decay::per_token) d_gate_[row(t) * view_.heads + head_] += x;
      if (view_.decay == Decay::per_key)
        d_gate_[key_at(t) + i] +=
            view_.raw_gates ? x * view_.gate_slope<double>(row(t), head_, i) : x;
    }
  }

  void two_tokens(std::int64_t i, std::int64_t j) {
    double change = denominators_[i];  // of the score, over the scale
    for (std::int64_t e = 0; e < view_.values; ++e) change += numerator(i, e) * v(j, e);
    change *= view_.scale;
    const bool own = view_.before_update && i == j;
    double score = 0;
    for (std::int64_t l = 0; l < view_.keys; ++l) {
      const double between =
          own ? view_.bonus[head_ * view_.keys + l] : prefix_.decay(j + 1, behind(i), l);
      score += q(i, l) * k(j, l) * between;
      add_query(i, l, change * k(j, l) * between);
      add_key(j, l, change * q(i, l) * between);
      if (own)
        du_[head_ * view_.keys + l] += change * q(i, l) * k(j, l);
      else
        add_gates(j + 1, behind(i), l, change * q(i, l) * k(j, l) * between);
    }
    for (std::int64_t e = 0; e < view_.values; ++e)
      add_value(j, e, view_.scale * score * numerator(i, e));
  }

  // Without an initial state it is zero, which is not nothing to a token that is NaN.
  void initial_state_read(std::int64_t t) {
    const bool given = view_.initial_state != nullptr, sums = view_.initial_normalizer != nullptr;
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      const double left = prefix_.decay(0, behind(t), i);
      double change = sums ? denominators_[t] * sum(view_.initial_normalizer, i) : 0.0;
      for (std::int64_t e = 0; e < view_.values; ++e) {
        change += numerator(t, e) * (given ? element(view_.initial_state, i, e) : 0.0);
        if (given) add_initial(i, e, view_.scale * q(t, i) * left * numerator(t, e));
      }
      if (sums) add_initial_sum(i, view_.scale * q(t, i) * left * denominators_[t]);
      add_query(t, i, view_.scale * change * left);
      add_gates(0, behind(t), i, view_.scale * change * left * q(t, i));
    }
  }

  void final_state_of(std::int64_t t) {
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      const double left = prefix_.decay(t + 1, count(), i);
      double change = view_.normalize ? sum(view_.d_final_normalizer, i) : 0.0;
      for (std::int64_t e = 0; e < view_.values; ++e) {
        change += element(view_.d_final_state, i, e) * v(t, e);
        add_value(t, e, element(view_.d_final_state, i, e) * k(t, i) * left);
      }
      add_key(t, i, change * left);
      add_gates(t + 1, count(), i, change * left * k(t, i));
    }
  }

  void final_state_of_initial() {
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      const double left = prefix_.decay(0, count(), i);
      double change = 0;
      for (std::int64_t e = 0; e < view_.values; ++e) {
        change += element(view_.d_final_state, i, e) * element(view_.initial_state, i, e);
        add_initial(i, e, element(view_.d_final_state, i, e) * left);
      }
      if (view_.normalize) {
        change += sum(view_.d_final_normalizer, i) * sum(view_.initial_normalizer, i);
        add_initial_sum(i, sum(view_.d_final_normalizer, i) * left);
      }
      add_gates(0, count(), i, change * left);
    }
  }

  const View& view_;
  std::int64_t sequence_, head_;
  Range tokens_;
  GatePrefix prefix_;
  ReferenceTensors& gradients_;
  double *dq_, *dk_, *dv_, *d_gate_, *du_, *d_initial_, *d_initial_sum_;
  Column numerators_, denominators_;
};

}  // namespace

// One pair after the other: gradients of gates and of the bonus are sums over several.
ReferenceTensors second_backward(const Traits& traits, const Problem& problem,
                                 const HostTensors& inputs) {
  ReferenceTensors gradients = empty_gradients<double>(tensors(traits, problem));
  const View view(traits, problem, inputs);
  for (std::int64_t sequence = 0; sequence < view.sequences; ++sequence)
    for (std::int64_t head = 0; head < view.heads; ++head)
      Pairs(traits, view, sequence, head, gradients).run();
  return gradients;
}

}  // namespace gla_bench::recurrence
