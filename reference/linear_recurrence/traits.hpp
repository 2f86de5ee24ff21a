#pragma once
// How the members of the linear-recurrence family differ, and their tensors. The arithmetic is in
// linear_recurrence.cpp (the recurrence) and linear_recurrence_quadratic.hpp (the second form).

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/operator.hpp"
#include "reference/linear_recurrence/params.h"

namespace gla_bench::recurrence {

/// What a token's decay depends on besides its sequence: nothing (it is 1), the head, the token and
/// head, or the token, head and row of the state.
enum class Decay { none, per_head, per_token, per_key };

/// One operator of the family.
struct Traits {
  std::string_view name, summary;
  Decay decay = Decay::none;
  std::string_view gate;       ///< the tensor of log decays; "" with Decay::none
  bool before_update = false;  ///< o reads the state before the update, and k v^T through the bonus
  bool features = false;       ///< has the options feature_map and normalize
  bool raw_gates = false;      ///< has the option gate_input
};

/// The five members.
std::span<const Traits> family();

double default_scale(const Traits& traits, const Problem& problem);
/// @throws std::out_of_range for traits of no member
const std::vector<OptionAxis>& options(const Traits& traits);
std::vector<std::string> regimes(const Traits& traits);
std::vector<TensorSpec> tensors(const Traits& traits, const Problem& problem);
Work work(const Traits& traits, const Problem& problem);
HostTensors draw(const Traits& traits, const Problem& problem);
std::vector<std::string> signed_inputs(const Traits& traits, const Problem& problem);
std::optional<std::string> refuse(const Traits& traits, const Problem& problem);

/// The recurrence on a device (linear_recurrence.cuh). Keeps a reference to `traits`, so it must be
/// a member of family().
DeviceReference device_reference(const Traits& traits);

/// The rows of tokens [first, last) of one sequence, among all B T of them.
struct Range {
  std::int64_t first = 0, last = 0;
};

/// exp(log_decay). In float, where it is part of the plain computation, it is formed as kernels
/// form it: as a power of two. The product with log2(e) is rounded, so that a strong decay is as
/// far from exp(log_decay) as theirs.
template <class Real>
Real decay_of(Real log_decay) {
  if constexpr (std::is_same_v<Real, double>) return std::exp(log_decay);
  constexpr float log2_e = 1.44269504f;
  return static_cast<Real>(std::exp2(static_cast<double>(static_cast<float>(log_decay) * log2_e)));
}

/// A problem's inputs with their indexing: by the row of a token (b T + t), by head, and by
/// element.
struct View {
  Decay decay;
  bool before_update, elu_features, normalize, raw_gates;
  std::int64_t sequences, heads, keys, values, seq;
  std::int64_t every;  ///< tokens between the states that are outputs; 0: there are none
  double scale;
  const float *q, *k, *v, *gate, *bonus, *boundaries, *initial_state, *initial_normalizer;
  const float *d_o, *d_final_state, *d_final_normalizer;  ///< of the backward; null otherwise

  /// @throws std::out_of_range for a missing input
  View(const Traits& traits, const Problem& problem, const HostTensors& inputs);

  Range tokens(std::int64_t sequence) const {
    if (!boundaries) return {sequence * seq, (sequence + 1) * seq};
    return {static_cast<std::int64_t>(boundaries[sequence]),
            static_cast<std::int64_t>(boundaries[sequence + 1])};
  }
  /// The places of a sequence's states among those of `states`: the state after min((i + 1) every,
  /// all) of its tokens has the place first + i. Ragged sequences that begin at token b have the
  /// places from b / every on, so that no sequence has to know the lengths of others. Then the last
  /// place may be that of a sequence's last state, between two multiples of `every`.
  Range places(std::int64_t sequence) const {
    if (every == 0) return {};
    if (!boundaries) return {sequence * (seq / every), (sequence + 1) * (seq / every)};
    const Range range = tokens(sequence);
    return {range.first / every, range.last / every};
  }
  std::int64_t key_at(std::int64_t row, std::int64_t head) const {
    return (row * heads + head) * keys;
  }
  std::int64_t value_at(std::int64_t row, std::int64_t head) const {
    return (row * heads + head) * values;
  }
  std::int64_t state_at(std::int64_t sequence, std::int64_t head) const {
    return (sequence * heads + head) * keys * values;
  }
  std::int64_t normalizer_at(std::int64_t sequence, std::int64_t head) const {
    return (sequence * heads + head) * keys;
  }

  /// An element of q or k as the recurrence uses it, computed in Real.
  template <class Real>
  Real feature(float x) const {
    const auto value = static_cast<Real>(x);
    if (!elu_features) return value;
    return value > 0 ? value + 1 : std::exp(value);
  }

  /// The derivative of feature() at x.
  template <class Real>
  Real feature_slope(float x) const {
    return !elu_features || x > 0 ? Real(1) : std::exp(static_cast<Real>(x));
  }

  /// The log decay of state row `key` at a token, computed in Real.
  template <class Real>
  Real log_decay(std::int64_t row, std::int64_t head, std::int64_t key) const {
    switch (decay) {
      case Decay::none:
        return 0;
      case Decay::per_head:
        return static_cast<Real>(gate[head]);
      case Decay::per_token:
        return static_cast<Real>(gate[row * heads + head]);
      case Decay::per_key:
        break;
    }
    const auto value = static_cast<Real>(gate[key_at(row, head) + key]);
    return raw_gates ? -std::exp(value) : value;
  }

  /// The derivative of log_decay() by the gate that is stored, for gates per key. A raw gate whose
  /// decay is 0 has no gradient, and the derivative counts as 0.
  template <class Real>
  Real gate_slope(std::int64_t row, std::int64_t head, std::int64_t key) const {
    if (!raw_gates) return 1;
    const Real decay = log_decay<Real>(row, head, key);
    return std::isinf(decay) ? Real(0) : decay;
  }
};

}  // namespace gla_bench::recurrence
