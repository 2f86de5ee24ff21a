// The size of what the gradients of constant decays, and of decays per token, are added up from.

#include <cmath>
#include <numeric>

#include "reference/feature_energies.hpp"
#include "reference/linear_recurrence/backward/backward.hpp"

namespace gla_bench::recurrence {
namespace {

// The mean squares of the products whose sum is the gradient, were all signs drawn.
struct Energies {
  double pair = 0;     // scale (q.k) (do.v)
  double initial = 0;  // scale q.initial_state.do
  double final = 0;    // k.dfinal_state.v
  double states = 0;   // initial_state.dfinal_state
};

double total(const std::vector<double>& energies) {
  return std::accumulate(energies.begin(), energies.end(), 0.0);
}

Energies energies(const Problem& problem, double scale, const HostTensors& inputs) {
  const auto of = [&](const char* name, std::int64_t features) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? std::vector<double>(static_cast<std::size_t>(features))
                                 : feature_energies(features, found->second);
  };
  const Shape& s = problem.shape;
  const auto q = of("q", s.key_dim), k = of("k", s.key_dim);
  const auto v = of("v", s.value_dim), d_o = of("do", s.value_dim);
  const double initial = of("initial_state", 1).front();
  const double final = of("dfinal_state", 1).front();
  const double states = static_cast<double>(s.key_dim * s.value_dim);
  return {scale * scale * product_energy(q, k) * product_energy(d_o, v),
          scale * scale * total(q) * total(d_o) * initial, total(k) * total(v) * final,
          states * initial * final};
}

// A product over a distance of d tokens is d times in the gradient, and decays by exp(d log_decay).
double energy_of_sequence(const Energies& each, double log_decay, std::int64_t tokens) {
  double sum = 0;
  for (std::int64_t d = 1; d <= tokens; ++d) {
    const auto distance = static_cast<double>(d);
    const double weight = distance * distance * std::exp(2 * distance * log_decay);
    if (weight == 0) break;  // nor is there anything farther
    sum += weight * (static_cast<double>(tokens - d) * each.pair + each.initial);
    sum += weight * (d < tokens ? each.final : each.states);
  }
  return sum;
}

// With a decay for each token: the sum over the tokens of the mean squares of their gradients. The
// gradient of a token's decay is a sum over all that was written before it, times all that is read
// from it on. `decay(t)`: the square of the decay of the sequence's token t.
template <class Decay>
double energy_of_tokens(const Energies& each, Decay decay, std::int64_t tokens) {
  // Of what is read from token t on, and of what is left of a state behind the last token.
  std::vector<double> read(static_cast<std::size_t>(tokens)), left(read);
  double later = 0, rest = 1;
  for (std::int64_t t = tokens - 1; t >= 0; --t) {
    const auto at = static_cast<std::size_t>(t);
    later += 1;
    read[at] = later, left[at] = rest;
    later *= decay(t), rest *= decay(t);
  }
  double sum = 0, written = 0, begun = 1;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto at = static_cast<std::size_t>(t);
    written *= decay(t), begun *= decay(t);
    sum += written * (read[at] * each.pair + left[at] * each.final) +
           begun * (read[at] * each.initial + left[at] * each.states);
    written += 1;
  }
  return sum;
}

}  // namespace

std::map<std::string, double> sum_sizes(const Traits& traits, const Problem& problem,
                                        const HostTensors& inputs) {
  const bool per_token = traits.decay == Decay::per_token;
  if ((traits.decay != Decay::per_head && !per_token) || !has_gradients(problem.direction))
    return {};
  const View view(traits, problem, inputs);
  const Energies each = energies(problem, view.scale, inputs);
  double sum = 0;
  std::int64_t count = per_token ? 0 : view.heads;
  for (std::int64_t head = 0; head < view.heads; ++head)
    for (std::int64_t sequence = 0; sequence < view.sequences; ++sequence) {
      const Range tokens = view.tokens(sequence);
      const std::int64_t length = tokens.last - tokens.first;
      if (per_token) {
        count += length;
        sum += energy_of_tokens(
            each,
            [&](std::int64_t t) {
              return std::exp(2 * view.log_decay<double>(tokens.first + t, head, 0));
            },
            length);
      } else {
        sum += energy_of_sequence(each, view.log_decay<double>(0, head, 0), length);
      }
    }
  if (count == 0) return {};
  return {{"d" + std::string(traits.gate), std::sqrt(sum / static_cast<double>(count))}};
}

}  // namespace gla_bench::recurrence
