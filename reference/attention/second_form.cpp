#include "reference/attention/second_form.hpp"

#include "reference/attention/gradients.hpp"
#include "reference/attention/ragged.hpp"

namespace gla_bench::attention {
namespace {

// The biases of the keys 0..position for a query at that position, with log decays summed from the
// query backwards.
std::vector<double> biases(const View& view, std::int64_t b, std::int64_t h, std::int64_t query) {
  std::vector<double> list(static_cast<std::size_t>(view.seen(query)), 0.0);
  double sum = 0;
  for (std::int64_t j = view.seen(query) - 1; view.log_decay != nullptr && j >= 0; --j) {
    list[j] = sum;
    sum += view.log_decay[view.decay_row(b, j, h)];
  }
  return list;
}

long double dot(const float* a, const float* b, std::int64_t count) {
  long double sum = 0;
  for (std::int64_t i = count; i-- > 0;) sum += static_cast<long double>(a[i]) * b[i];
  return sum;
}

// The logits of the keys that a query sees.
std::vector<long double> logits(const View& view, std::int64_t b, std::int64_t h,
                                std::int64_t query) {
  const std::vector<double> bias = biases(view, b, h, query);
  const float* q = view.q + view.query_row(b, query, h) * view.keys;
  std::vector<long double> list(bias.size());
  for (std::int64_t j = 0; j < view.seen(query); ++j)
    list[j] =
        view.scale * dot(q, view.k + view.key_row(b, j, view.key_head(h)) * view.keys, view.keys) +
        bias[j];
  return list;
}

void forward_row(const View& view, std::int64_t b, std::int64_t h, std::int64_t query,
                 ReferenceTensors& outputs) {
  const std::int64_t row = view.query_row(b, query, h);
  const std::vector<long double> logit = logits(view, b, h, query);
  std::vector<long double> sums(static_cast<std::size_t>(view.values), 0.0L);
  long double total = 0;
  for (std::int64_t j = 0; j < view.seen(query); ++j) {
    const long double weight = std::exp(logit[j]);
    const float* value = view.v + view.key_row(b, j, view.key_head(h)) * view.values;
    total += weight;
    for (std::int64_t c = 0; c < view.values; ++c) sums[c] += weight * value[c];
  }
  for (std::int64_t c = 0; c < view.values; ++c)
    outputs.at("o")[row * view.values + c] = total > 0 ? static_cast<double>(sums[c] / total) : 0.0;
  if (view.lse) outputs.at("lse")[row] = static_cast<double>(std::log(total));
}

// dS_ij for the keys of one query.
std::vector<long double> score_gradients(const View& view, std::int64_t b, std::int64_t h,
                                         std::int64_t query, std::vector<long double>& weights) {
  const std::int64_t row = view.query_row(b, query, h);
  std::vector<long double> list = logits(view, b, h, query);
  weights.resize(list.size());
  for (std::int64_t j = 0; j < view.seen(query); ++j) {
    const float* value = view.v + view.key_row(b, j, view.key_head(h)) * view.values;
    long double change = 0;
    for (std::int64_t c = 0; c < view.values; ++c)
      change += view.d_o[row * view.values + c] *
                (static_cast<long double>(value[c]) - view.o[row * view.values + c]);
    weights[j] = std::exp(list[j] - view.given_lse[row]);
    list[j] = weights[j] * change;
  }
  return list;
}

void backward_row(const View& view, std::int64_t b, std::int64_t h, std::int64_t query,
                  ReferenceTensors& outputs) {
  std::vector<long double> weights;
  const std::vector<long double> ds = score_gradients(view, b, h, query, weights);
  const std::int64_t row = view.query_row(b, query, h);
  for (std::int64_t j = 0; j < view.seen(query); ++j) {
    const std::int64_t key = view.key_row(b, j, view.key_head(h));
    for (std::int64_t c = 0; c < view.keys; ++c) {
      const auto step = static_cast<double>(view.scale * ds[j]);
      outputs.at("dq")[row * view.keys + c] += step * view.k[key * view.keys + c];
      outputs.at("dk")[key * view.keys + c] += step * view.q[row * view.keys + c];
    }
    for (std::int64_t c = 0; c < view.values; ++c)
      outputs.at("dv")[key * view.values + c] +=
          static_cast<double>(weights[j] * view.d_o[row * view.values + c]);
    // The log decays at j+1 .. position lie between key and query.
    for (std::int64_t t = j + 1; view.log_decay != nullptr && t <= view.position(query); ++t)
      outputs.at("dlog_decay")[view.decay_row(b, t, h)] += static_cast<double>(ds[j]);
  }
}

}  // namespace

ReferenceTensors second_forward(const View& view) {
  if (view.sequences > 0) return of_sequences<double>(view, second_forward);
  ReferenceTensors outputs;
  const std::int64_t rows = view.pairs() * view.seq;
  outputs["o"].resize(static_cast<std::size_t>(rows * view.values));
  if (view.lse) outputs["lse"].resize(static_cast<std::size_t>(rows));
#pragma omp parallel for schedule(dynamic) if (view.large())
  for (std::int64_t pair = 0; pair < view.pairs(); ++pair)
    for (std::int64_t i = 0; i < view.seq; ++i)
      forward_row(view, pair / view.heads, pair % view.heads, i, outputs);
  return outputs;
}

ReferenceTensors second_backward(const View& view) {
  if (view.sequences > 0) return of_sequences<double>(view, second_backward);
  ReferenceTensors outputs = zero_gradients<double>(view);
  for (std::int64_t pair = 0; pair < view.pairs(); ++pair)
    for (std::int64_t i = 0; i < view.seq; ++i)
      backward_row(view, pair / view.heads, pair % view.heads, i, outputs);
  return outputs;
}

}  // namespace gla_bench::attention
