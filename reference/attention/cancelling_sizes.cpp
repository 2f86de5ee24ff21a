#include "reference/attention/cancelling_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/attention/gradients.hpp"
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

// What the rows of one sequence and query head add to the decays' gradients.
struct DecaySquares {
  double constant = 0;
  /// The changes from one token to the next, where each log decay is an output.
  std::vector<double> changes;
};

// Adds the squares of the terms of one query's row.
void add_row(const View& view, const Decays& decays, std::int64_t b, std::int64_t h,
             std::int64_t query, ReferenceTensors& squares, DecaySquares& of_decays) {
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
    of_decays.constant += change * distance * distance;
    if (view.constant_decay || distance == 0) continue;
    of_decays.changes[j + 1] += change;
    of_decays.changes[view.position(query) + 1] -= change;
  }
}

// Adds the squares of all rows of a sequence and query head. Returns those of a constant decay.
double add_pair(const View& view, std::int64_t b, std::int64_t h, ReferenceTensors& squares) {
  const Decays decays = view.decays(b, h);
  DecaySquares of_decays;
  of_decays.changes.resize(static_cast<std::size_t>(view.key_seq) + 1);
  for (std::int64_t i = 0; i < view.seq; ++i) add_row(view, decays, b, h, i, squares, of_decays);
  double sum = 0;
  for (std::int64_t t = 0; view.has_decays && !view.constant_decay && t < view.key_seq; ++t) {
    sum += of_decays.changes[t];
    squares.at("dlog_decay")[view.decay_row(b, t, h)] = std::max(0.0, sum);
  }
  return of_decays.constant;
}

ReferenceTensors squares_of_terms(const View& view) {
  if (view.sequences > 0) return of_sequences<double>(view, squares_of_terms);
  ReferenceTensors squares = zero_gradients<double>(view);
  squares.erase("dv");  // no term of dv is a difference
  std::vector<double> constant(static_cast<std::size_t>(view.pairs()));
  const std::int64_t group = view.heads / view.key_heads;
  // The query heads of one key head add to the same dk, so one thread takes them all.
#pragma omp parallel for schedule(dynamic) if (view.large())
  for (std::int64_t shared = 0; shared < view.batch * view.key_heads; ++shared)
    for (std::int64_t i = 0; i < group; ++i) {
      const std::int64_t b = shared / view.key_heads, h = shared % view.key_heads * group + i;
      constant[b * view.heads + h] = add_pair(view, b, h, squares);
    }
  for (std::int64_t pair = 0; view.constant_decay && pair < view.pairs(); ++pair)
    squares.at("dlog_decay")[pair % view.heads] += constant[pair];
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
