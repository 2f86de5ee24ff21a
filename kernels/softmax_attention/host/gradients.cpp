#include "kernels/softmax_attention/host/gradients.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/linear_recurrence/host/math.hpp"

namespace gla_bench::softmax_attention::host {
namespace {

using linear_recurrence::host::add_product;
using linear_recurrence::host::exp_of_gate;

long long offset(const TokenStrides& strides, const Pair& at, long long token, long long head) {
  return at.batch * strides.batch + token * strides.seq + head * strides.heads;
}

}  // namespace

void row_terms(const Call& call, const Pair& at, long long first, long long count, const float* d_o,
               double* terms) {
  const long long values = call.p.value_dim;
  std::vector<float> o = scratch(count * values);
  call.load_outputs(call.p.o, at, first, count, o.data());
  for (long long r = 0; r < count; ++r) {
    double sum = 0;
    for (long long c = r * values; c < (r + 1) * values; ++c)
      sum += static_cast<double>(o[c]) * d_o[c];
    terms[r] = sum;
  }
}

void form_gradients(const Call& call, const Pair& at, long long first_query, long long rows,
                    long long first_key, long long keys, const double* terms, float* scores,
                    float* changes) {
  for (long long r = 0; r < rows; ++r) {
    const long long seen = std::clamp(call.seen(first_query + r) - first_key, 0LL, keys);
    const float lse = call.p.lse[call.lse_at(at, first_query + r)];
    float *weights = scores + r * keys, *row = changes + r * keys;
    for (long long j = 0; j < seen; ++j) weights[j] = exp_of_gate(weights[j] - lse);
    // A key that is seen alone has all the weight, whatever its score is.
    const bool alone = call.seen(first_query + r) == 1;
    for (long long j = 0; j < seen; ++j)
      row[j] = alone ? 0.0f : weights[j] * static_cast<float>(row[j] - terms[r]);
    std::fill(weights + seen, weights + keys, 0.0f);
    std::fill(row + seen, row + keys, 0.0f);
  }
}

GradientTile::GradientTile(const Call& call, const Biases& biases, long long rows_at_most,
                           long long keys_at_most)
    : scores(call, biases, rows_at_most, keys_at_most),
      d_o(scratch(rows_at_most * call.p.value_dim)),
      v(scratch(keys_at_most * call.p.value_dim)),
      ds(scratch(rows_at_most * keys_at_most)),
      terms(static_cast<std::size_t>(rows_at_most)) {}

void GradientTile::load_queries(const Pair& at, long long first, long long count) {
  scores.load_queries(at, first, count);
  scores.call.load_outputs(scores.call.p.d_o, at, first, count, d_o.data());
  row_terms(scores.call, at, first, count, d_o.data(), terms.data());
}

void GradientTile::load_keys(const Pair& at, long long first, long long count) {
  scores.load_keys(at, first, count);
  transpose(count, scores.call.p.value_dim, scores.v.data(), v.data());
}

void GradientTile::form() {
  const long long values = scores.call.p.value_dim;
  scores.score();
  std::fill_n(ds.begin(), scores.rows * scores.keys, 0.0f);
  add_product(scores.rows, scores.keys, values, d_o.data(), values, 1, v.data(), scores.keys,
              ds.data(), scores.keys);
  form_gradients(scores.call, scores.pair, scores.first_query, scores.rows, scores.first_key,
                 scores.keys, terms.data(), scores.scores.data(), ds.data());
}

void DecaySums::add_rows(const Call& call, const Pair& at, long long first_query,
                         long long row_count, long long first_key, long long keys,
                         const float* ds) const {
  const long long start = (at.batch * call.p.heads + at.head) * call.p.seq + first_query;
  for (long long r = 0; r < row_count; ++r) {
    const long long distance = call.position(first_query + r) - first_key;
    double sum = 0, far = 0;  // a row of dS cancels to nearly nothing
    for (long long j = 0; j < keys; ++j) {
      sum += ds[r * keys + j];
      far += static_cast<double>(distance - j) * ds[r * keys + j];
    }
    rows[start + r] += static_cast<float>(sum);
    distances[start + r] += static_cast<float>(far);
  }
}

void DecaySums::add_columns(const Call& call, const Pair& at, long long row_count,
                            long long first_key, long long keys, const float* ds) const {
  float* to = columns + (at.batch * call.p.heads + at.head) * call.p.key_seq + first_key;
  for (long long r = 0; r < row_count; ++r)
    for (long long j = 0; j < keys; ++j) to[j] += ds[r * keys + j];
}

DecaySums decay_sums(const Call& call, int region) {
  DecaySums sums{};
  if (call.decay == Decay::none) return sums;
  sums = {static_cast<float*>(call.p.work[region]), static_cast<float*>(call.p.work[region + 1]),
          static_cast<float*>(call.p.work[region + 2])};
  std::fill_n(sums.rows, call.pairs * call.p.seq, 0.0f);
  std::fill_n(sums.columns, call.pairs * call.p.key_seq, 0.0f);
  std::fill_n(sums.distances, call.pairs * call.p.seq, 0.0f);
  return sums;
}

std::vector<Region> decay_sum_regions(const Problem& problem) {
  if (decay_of(problem) == Decay::none) return {};
  return {floats("row_sums", query_rows(problem)), floats("column_sums", decay_rows(problem)),
          floats("distances", query_rows(problem))};
}

// The gradient of each token is the sum of (column sum - row sum) over the earlier positions.
// Distant pairs cancel in it, so it is summed in double.
void store_decay_gradients(const Call& call, const DecaySums& sums) {
  const AttentionParams& p = call.p;
  if (call.decay == Decay::constant)
    for (long long head = 0; head < p.heads; ++head) {
      double sum = 0;
      for (long long b = 0; b < p.batch; ++b)
        for (long long i = 0; i < p.seq; ++i)
          sum += sums.distances[(b * p.heads + head) * p.seq + i];
      p.d_log_decay[head] = static_cast<float>(sum + (call.adds ? p.d_log_decay[head] : 0.0f));
    }
  if (call.decay != Decay::per_token) return;
#pragma omp parallel for schedule(static)
  for (long long number = 0; number < call.pairs; ++number) {
    const Pair at = call.pair(number);
    double sum = 0;
    for (long long t = 0; t < p.key_seq; ++t) {
      p.d_log_decay[offset(p.decay_strides, at, t, at.head)] = static_cast<float>(sum);
      const long long query = t - p.key_seq + p.seq;
      sum += sums.columns[number * p.key_seq + t];
      if (query >= 0) sum -= sums.rows[number * p.seq + query];
    }
  }
}

void store_query_gradients(const Call& call, const Pair& at, long long first, long long rows,
                           const float* in) {
  store(call.dtype, call.p.dq, offset(call.p.dq_strides, at, first, at.head), call.p.dq_strides.seq,
        rows, call.p.key_dim, in, call.p.scale);
}

void store_key_gradients(const Call& call, const Pair& at, long long first, long long rows,
                         const float* dk, const float* dv) {
  const long long head = at.head / call.group;
  store(call.dtype, call.p.dk, offset(call.p.dk_strides, at, first, head), call.p.dk_strides.seq,
        rows, call.p.key_dim, dk);
  store(call.dtype, call.p.dv, offset(call.p.dv_strides, at, first, head), call.p.dv_strides.seq,
        rows, call.p.value_dim, dv);
}

}  // namespace gla_bench::softmax_attention::host
