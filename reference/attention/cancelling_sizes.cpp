#include "reference/attention/cancelling_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/attention/ragged.hpp"

namespace gla_bench::attention {
namespace {

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

// Adds the squares of the terms of one query's row. `decays_at` has the changes of what is added to
// the decays' gradients from one token to the next; it is empty where there are none.
void add_row(const View& view, const Decays& decays, std::int64_t b, std::int64_t h,
             std::int64_t query, ReferenceTensors& squares, std::vector<double>& decays_at) {
  const std::int64_t row = view.query_row(b, query, h);
  // A query that sees nothing has lse = -inf.
  if (view.seen(query) == 0 || !std::isfinite(view.given_lse[row])) return;
  const float *q = view.q + row * view.keys, *d_o = view.d_o + row * view.values;
  double* dq = squares.at("dq").data() + row * view.keys;
  const double of_row_term = energy(d_o, view.o + row * view.values, view.values);
  for (std::int64_t j = 0; j < view.seen(query); ++j) {
    const std::int64_t key = view.key_row(b, j, view.key_head(h));
    const float* k = view.k + key * view.keys;
    double* dk = squares.at("dk").data() + key * view.keys;
    double logit = view.scale * dot(q, k, view.keys);
    if (!decays.sums.empty()) logit += decays.between(j, view.position(query));
    const double weight = std::exp(logit - static_cast<double>(view.given_lse[row]));
    const double terms = energy(d_o, view.v + key * view.values, view.values) + of_row_term;
    const double change = weight * weight * terms;
    const double step = view.scale * view.scale * change;
    for (std::int64_t c = 0; c < view.keys; ++c) {
      dq[c] += step * static_cast<double>(k[c]) * static_cast<double>(k[c]);
      dk[c] += step * static_cast<double>(q[c]) * static_cast<double>(q[c]);
    }
    if (!view.has_decays) continue;
    // The log decays between key and query: each is an output, or all of them are one.
    const auto distance = static_cast<double>(view.position(query) - j);
    if (view.constant_decay) squares.at("dlog_decay")[h] += change * distance * distance;
    if (view.constant_decay || distance == 0) continue;
    decays_at[j + 1] += change;
    decays_at[view.position(query) + 1] -= change;
  }
}

ReferenceTensors squares_of_terms(const View& view) {
  if (view.sequences > 0) return of_sequences<double>(view, squares_of_terms);
  ReferenceTensors squares;
  const auto resize = [&](const char* name, std::int64_t elements) {
    squares[name].resize(static_cast<std::size_t>(elements));
  };
  resize("dq", view.pairs() * view.seq * view.keys);
  resize("dk", view.batch * view.key_seq * view.key_heads * view.keys);
  if (view.has_decays) resize("dlog_decay", view.decay_gradients());
  for (std::int64_t pair = 0; pair < view.pairs(); ++pair) {
    const std::int64_t b = pair / view.heads, h = pair % view.heads;
    const Decays decays = view.decays(b, h);
    std::vector<double> decays_at(static_cast<std::size_t>(view.key_seq) + 1);
    for (std::int64_t i = 0; i < view.seq; ++i) add_row(view, decays, b, h, i, squares, decays_at);
    double sum = 0;
    for (std::int64_t t = 0; view.has_decays && !view.constant_decay && t < view.key_seq; ++t) {
      sum += decays_at[t];
      squares.at("dlog_decay")[view.decay_row(b, t, h)] = std::max(0.0, sum);
    }
  }
  return squares;
}

}  // namespace

HostTensors cancelling_sizes(const View& view) {
  HostTensors sizes;
  for (const auto& [output, squares] : squares_of_terms(view)) {
    std::vector<float>& of_output = sizes[output];
    of_output.reserve(squares.size());
    for (const double square : squares) of_output.push_back(static_cast<float>(std::sqrt(square)));
  }
  return sizes;
}

}  // namespace gla_bench::attention
