// The definition of the backward and the plain computation. A task owns one (sequence, head) pair.
// It runs the recurrence forwards and keeps the state before every sqrt(T)-th token. Then it goes
// back over the segments between those, of which it computes the states once more.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/rounding.hpp"
#include "reference/linear_recurrence/backward/backward.hpp"

namespace gla_bench::recurrence {
namespace {

// With less work than this, threads are not worth starting.
constexpr double small_flops = 1e7;

template <class Real>
using Gradients = std::map<std::string, std::vector<Real>>;

template <class Real>
std::vector<Real> zeros(std::int64_t count) {
  return std::vector<Real>(static_cast<std::size_t>(count), Real(0));
}

// What one pair adds to gradients that sum over the tokens of a head. That of a constant decay is
// one running sum of all its products.
template <class Real>
struct HeadSums {
  std::vector<Real> bonus;  // [K]
  Real decay = 0;
};

// States are [K, width]: the columns of v and, with a normalizer, one more. `operand` rounds the
// operands of products.
template <class Real, class Operand>
class Reverse {
 public:
  Reverse(const Traits& traits, const View& view, std::int64_t sequence, std::int64_t head,
          Operand operand)
      : traits_(traits),
        view_(view),
        sequence_(sequence),
        head_(head),
        operand_(operand),
        tokens_(view.tokens(sequence)),
        width_(view.values + (view.normalize ? 1 : 0)),
        segment_(std::max<std::int64_t>(
            1, std::llround(std::sqrt(static_cast<double>(tokens_.last - tokens_.first))))),
        state_(zeros<Real>(view.keys * width_)),
        change_(state_),
        d_out_(zeros<Real>(count() * width_)),
        q_(zeros<Real>(view.keys)),
        k_(q_),
        decay_(q_),
        v_(zeros<Real>(width_)) {
    sums_.bonus = q_;
    states_.resize(static_cast<std::size_t>(segment_ + 1), state_);
  }

  HeadSums<Real> run(Gradients<Real>& gradients) {
    read_state(view_.initial_state, view_.initial_normalizer, state_);
    go_forwards();
    read_state(view_.d_final_state, view_.d_final_normalizer, change_);
    const std::int64_t segments = (count() + segment_ - 1) / segment_;
    for (std::int64_t n = segments; n-- > 0;) go_back(n, gradients);
    finish(gradients);
    return std::move(sums_);
  }

 private:
  using Row = std::vector<Real>;
  std::int64_t count() const { return tokens_.last - tokens_.first; }
  std::int64_t size() const { return view_.keys * width_; }

  // A state that is given, or its gradient, and those of the normalizer; zeros are left without.
  void read_state(const float* states, const float* normalizers, Row& to) const {
    const std::int64_t at = view_.state_at(sequence_, head_);
    const std::int64_t sums = view_.normalizer_at(sequence_, head_);
    for (std::int64_t i = 0; states != nullptr && i < view_.keys; ++i) {
      for (std::int64_t e = 0; e < view_.values; ++e)
        to[i * width_ + e] = static_cast<Real>(states[at + i * view_.values + e]);
      if (view_.normalize) to[i * width_ + view_.values] = static_cast<Real>(normalizers[sums + i]);
    }
  }

  void read_token(std::int64_t t) {
    const std::int64_t row = tokens_.first + t, at = view_.key_at(row, head_);
    const bool one_decay = view_.decay != Decay::per_key;
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      decay_[i] =
          one_decay && i > 0 ? decay_[0] : decay_of(view_.template log_decay<Real>(row, head_, i));
      k_[i] = operand_(view_.template feature<Real>(view_.k[at + i]));
      q_[i] = operand_(view_.template feature<Real>(view_.q[at + i]));
    }
    for (std::int64_t e = 0; e < view_.values; ++e)
      v_[e] = operand_(static_cast<Real>(view_.v[view_.value_at(row, head_) + e]));
    if (view_.normalize) v_[view_.values] = 1;
  }

  void step() {
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      const Real decay = decay_[i], key = k_[i];
      Real* line = state_.data() + i * width_;
      for (std::int64_t e = 0; e < width_; ++e) line[e] = decay * line[e] + key * v_[e];
    }
  }

  // The gradient of a token's output, and of its denominator. `state` is the one that it reads.
  void form_output_gradient(std::int64_t t, const Row& state) {
    Real* to = d_out_.data() + t * width_;
    const float* d_o = view_.d_o + view_.value_at(tokens_.first + t, head_);
    for (std::int64_t e = 0; e < view_.values; ++e) to[e] = operand_(static_cast<Real>(d_o[e]));
    if (!view_.normalize) return;
    const auto scale = static_cast<Real>(view_.scale);
    Row out = zeros<Real>(width_);
    for (std::int64_t i = 0; i < view_.keys; ++i)
      for (std::int64_t e = 0; e < width_; ++e) out[e] += q_[i] * operand_(state[i * width_ + e]);
    const Real divisor = scale * out[view_.values] + static_cast<Real>(normalizer_epsilon);
    Real sum = 0;
    for (std::int64_t e = 0; e < view_.values; ++e) {
      sum += to[e] * (scale * out[e] / divisor);
      to[e] = operand_(to[e] / divisor);
    }
    to[view_.values] = operand_(-sum / divisor);
  }

  void go_forwards() {
    for (std::int64_t t = 0; t < count(); ++t) {
      if (t % segment_ == 0) kept_.push_back(state_);
      read_token(t);
      if (view_.before_update) form_output_gradient(t, state_);
      step();
      if (!view_.before_update) form_output_gradient(t, state_);
    }
  }

  void go_back(std::int64_t number, Gradients<Real>& gradients) {
    const std::int64_t first = number * segment_, last = std::min(first + segment_, count());
    state_ = std::move(kept_[static_cast<std::size_t>(number)]);
    for (std::int64_t t = first; t < last; ++t) {
      states_[static_cast<std::size_t>(t - first)] = state_;
      read_token(t);
      step();
    }
    states_[static_cast<std::size_t>(last - first)] = state_;
    for (std::int64_t t = last; t-- > first;) {
      read_token(t);
      const auto index = static_cast<std::size_t>(t - first);
      token(t, states_[index], states_[index + (view_.before_update ? 0 : 1)], gradients);
    }
  }

  // All of one token. `before` is the state before it, `read` the one that its query reads. On
  // entry change_ is the gradient of the state after it, from later tokens alone; on return of the
  // state before it.
  void token(std::int64_t t, const Row& before, const Row& read, Gradients<Real>& gradients) {
    const std::int64_t row = tokens_.first + t, at = view_.key_at(row, head_);
    const Real* d_o = d_out_.data() + t * width_;
    const auto scale = static_cast<Real>(view_.scale);
    Row dv = zeros<Real>(width_);
    Real own = 0, score = 0;  // do.v, and sum u q k
    for (std::int64_t e = 0; view_.before_update && e < width_; ++e) own += d_o[e] * v_[e];
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      Real* change = change_.data() + i * width_;
      const Real* old = before.data() + i * width_;
      const Real* seen = read.data() + i * width_;
      Real dq = 0, dk = 0, gate = 0;
      for (std::int64_t e = 0; e < width_; ++e) {
        if (!view_.before_update) change[e] += scale * q_[i] * d_o[e];
        const Real rounded = operand_(change[e]);
        dq += operand_(seen[e]) * d_o[e];
        dk += rounded * v_[e];
        dv[e] += rounded * k_[i];
        const Real of_gate = rounded * operand_(decay_[i] * old[e]);
        gate += of_gate;
        sums_.decay += of_gate;
        change[e] *= decay_[i];
        if (view_.before_update) change[e] += scale * q_[i] * d_o[e];
      }
      dq *= scale;
      if (view_.before_update) {
        const auto u = static_cast<Real>(view_.bonus[head_ * view_.keys + i]);
        dq += scale * u * k_[i] * own;
        dk += scale * u * q_[i] * own;
        score += u * q_[i] * k_[i];
        sums_.bonus[i] += scale * q_[i] * k_[i] * own;
      }
      gradients.at("dq")[at + i] = dq * view_.template feature_slope<Real>(view_.q[at + i]);
      gradients.at("dk")[at + i] = dk * view_.template feature_slope<Real>(view_.k[at + i]);
      add_gate(row, i, gate, gradients);
    }
    std::vector<Real>& to = gradients.at("dv");
    for (std::int64_t e = 0; e < view_.values; ++e)
      to[view_.value_at(row, head_) + e] = dv[e] + scale * score * d_o[e];
  }

  // `gate` is the gradient of the log decay of state row i.
  void add_gate(std::int64_t row, std::int64_t i, Real gate, Gradients<Real>& gradients) {
    switch (view_.decay) {
      case Decay::none:
      case Decay::per_head:  // sums_ has it
        return;
      case Decay::per_token:
        gradients.at(gradient())[row * view_.heads + head_] += gate;
        return;
      case Decay::per_key:
        break;
    }
    gradients.at(gradient())[view_.key_at(row, head_) + i] =
        gate * view_.template gate_slope<Real>(row, head_, i);
  }

  std::string gradient() const { return "d" + std::string(traits_.gate); }

  void finish(Gradients<Real>& gradients) const {
    if (!view_.initial_state) return;
    std::vector<Real>& states = gradients.at("dinitial_state");
    for (std::int64_t i = 0; i < view_.keys; ++i)
      std::copy_n(change_.begin() + i * width_, view_.values,
                  states.begin() + view_.state_at(sequence_, head_) + i * view_.values);
    for (std::int64_t i = 0; view_.normalize && i < view_.keys; ++i)
      gradients.at("dinitial_normalizer")[view_.normalizer_at(sequence_, head_) + i] =
          change_[i * width_ + view_.values];
  }

  const Traits& traits_;
  const View& view_;
  std::int64_t sequence_, head_;
  Operand operand_;
  Range tokens_;
  std::int64_t width_, segment_;
  Row state_, change_, d_out_, q_, k_, decay_, v_;
  std::vector<Row> kept_;    // before each segment
  std::vector<Row> states_;  // before each token of one segment, and after its last
  HeadSums<Real> sums_;
};

template <class Real, class Operand>
Gradients<Real> gradients_of(const Traits& traits, const Problem& problem,
                             const HostTensors& inputs, Operand operand) {
  Gradients<Real> gradients = empty_gradients<Real>(tensors(traits, problem));
  const View view(traits, problem, inputs);
  const std::int64_t pairs = view.sequences * view.heads;
  std::vector<HeadSums<Real>> sums(static_cast<std::size_t>(pairs));
  const bool large = work(traits, problem).flops > small_flops;
#pragma omp parallel for schedule(dynamic) if (large)
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    sums[pair] = Reverse<Real, Operand>(traits, view, pair / view.heads, pair % view.heads, operand)
                     .run(gradients);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const std::int64_t head = pair % view.heads;
    for (std::int64_t i = 0; view.bonus && i < view.keys; ++i)
      gradients.at("du")[head * view.keys + i] += sums[pair].bonus[i];
    if (view.decay == Decay::per_head)
      gradients.at("d" + std::string(traits.gate))[head] += sums[pair].decay;
  }
  return gradients;
}

}  // namespace

ReferenceTensors backward(const Traits& traits, const Problem& problem, const HostTensors& inputs) {
  return gradients_of<double>(traits, problem, inputs, [](double x) { return x; });
}

HostTensors plain_backward(const Traits& traits, const Problem& problem, const HostTensors& inputs,
                           Arithmetic arithmetic) {
  return with_operand_rounding(arithmetic, [&](auto operand) {
    return gradients_of<float>(traits, problem, inputs, operand);
  });
}

}  // namespace gla_bench::recurrence
