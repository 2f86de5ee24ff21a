#include "reference/attention/cancelling_sizes.hpp"

#include <cmath>

namespace gla_bench::attention {
namespace {

// Sums of the squares of all terms.
struct Energies {
  double dq = 0, dk = 0, dlog_decay = 0;

  void operator+=(const Energies& other) {
    dq += other.dq;
    dk += other.dk;
    dlog_decay += other.dlog_decay;
  }
};

double dot(const float* a, const float* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// The sum of the squares of the products of a dot product.
double energy(const float* a, const float* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    sum += product * product;
  }
  return sum;
}

Energies of_row(const View& view, const Decays& decays, std::int64_t b, std::int64_t h,
                std::int64_t query) {
  Energies sum;
  const std::int64_t row = view.query_row(b, query, h);
  // A query that sees nothing has lse = -inf.
  if (view.seen(query) == 0 || !std::isfinite(view.given_lse[row])) return sum;
  const float *q = view.q + row * view.keys, *d_o = view.d_o + row * view.values;
  const double of_row_term = energy(d_o, view.o + row * view.values, view.values);
  const double of_query = dot(q, q, view.keys);
  for (std::int64_t j = 0; j < view.seen(query); ++j) {
    const std::int64_t key = view.key_row(b, j, view.key_head(h));
    const float* k = view.k + key * view.keys;
    double logit = view.scale * dot(q, k, view.keys);
    if (!decays.sums.empty()) logit += decays.between(j, view.position(query));
    const double weight = std::exp(logit - static_cast<double>(view.given_lse[row]));
    const double terms = energy(d_o, view.v + key * view.values, view.values) + of_row_term;
    const double change = weight * weight * terms;
    sum.dq += view.scale * view.scale * change * dot(k, k, view.keys);
    sum.dk += view.scale * view.scale * change * of_query;
    // The log decays between key and query: each is an output, or all of them are one.
    const auto distance = static_cast<double>(view.position(query) - j);
    sum.dlog_decay += change * distance * (view.constant_decay ? distance : 1);
  }
  return sum;
}

Energies energies(const View& view) {
  Energies sum;
  if (view.sequences > 0) {
    for (std::int64_t n = 0; n < view.sequences; ++n) sum += energies(view.sequence(n));
    return sum;
  }
  for (std::int64_t pair = 0; pair < view.pairs(); ++pair) {
    const std::int64_t b = pair / view.heads, h = pair % view.heads;
    const Decays decays = view.decays(b, h);
    for (std::int64_t i = 0; i < view.seq; ++i) sum += of_row(view, decays, b, h, i);
  }
  return sum;
}

}  // namespace

std::map<std::string, double> cancelling_sizes(const View& view) {
  const Energies sum = energies(view);
  const auto rms = [](double energy, std::int64_t elements) {
    return elements > 0 ? std::sqrt(energy / static_cast<double>(elements)) : 0.0;
  };
  std::map<std::string, double> sizes;
  sizes["dq"] = rms(sum.dq, view.pairs() * view.seq * view.keys);
  sizes["dk"] = rms(sum.dk, view.batch * view.key_seq * view.key_heads * view.keys);
  if (view.has_decays) sizes["dlog_decay"] = rms(sum.dlog_decay, view.decay_gradients());
  return sizes;
}

}  // namespace gla_bench::attention
