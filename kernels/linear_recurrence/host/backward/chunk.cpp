#include "kernels/linear_recurrence/host/backward/chunk.hpp"

#include <algorithm>

#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/math.hpp"

namespace gla_bench::linear_recurrence::host {

void add_readers(const GradientCall& call, long long rows, const float* parts, float* dg) {
  const long long keys = call.keys;
  std::vector<float> sum = scratch(keys);
  for (long long t = rows; t-- > 0;)
    for (long long i = 0; i < keys; ++i) {
      const float part = parts[t * keys + i];
      dg[t * keys + i] += call.before_update ? sum[i] : sum[i] + part;
      sum[i] += part;
    }
}

void add_writers(const GradientCall& call, long long rows, const float* parts, float* dg) {
  const long long keys = call.keys;
  std::vector<float> sum = scratch(keys);
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < keys; ++i) {
      dg[t * keys + i] += sum[i];
      sum[i] += parts[t * keys + i];
    }
}

GradientChunk::GradientChunk(const GradientCall& call, long long chunk)
    : q(scratch(chunk * call.keys)),
      k(q),
      e(q),
      v(scratch(chunk * call.width)),
      d_o(v),
      dq(q),
      dk(q),
      dg(q),
      dv(v),
      prefix(q),
      suffix(q),
      whole(scratch(call.keys)),
      scores(scratch(chunk * chunk)),
      changes(scores),
      sums(call),
      bonus_(whole),
      reach_(q),
      run_(whole),
      parts_(q),
      read_(q),
      written_(q) {}

void GradientChunk::load(const GradientCall& call, const Rows& at) {
  rows = at.rows;
  load_queries(call, at, q.data());
  load_keys(call, at, k.data());
  load_decays(call, at, e.data());
  load_values(call, at, v.data());
  load_output_gradients(call, at, d_o.data());
  if (call.before_update) load_bonus(call, at.pair, bonus_.data());
  std::copy_n(q.begin(), rows * call.keys, prefix.begin());
  std::copy_n(k.begin(), rows * call.keys, suffix.begin());
  scale_by_prefix(call, rows, e.data(), prefix.data(), whole.data());
  scale_by_suffix(call, rows, e.data(), suffix.data());
}

// A token that reads itself through the bonus.
void GradientChunk::own_token(const GradientCall& call, long long t) {
  const long long keys = call.keys, at = t * keys;
  const float change = changes[t * rows + t];
  float score = 0;
  for (long long i = 0; i < keys; ++i) {
    const float u = bonus_[i], query = q[at + i], key = k[at + i];
    score += query * u * key;
    dq[at + i] += change * u * key;
    dk[at + i] += change * u * query;
    sums.bonus[i] += static_cast<double>(change * query * key);
  }
  scores[t * rows + t] = call.p.scale * score;
}

// All tokens that read token j, forwards with the decays in between, and backwards with the sum of
// what the tokens from there on read, which is the gradient of the gate there.
void GradientChunk::readers_of(const GradientCall& call, long long j) {
  const long long keys = call.keys, behind = call.before_update ? 1 : 0, first = j + behind;
  const float* key = k.data() + j * keys;
  for (long long i = first; i < rows; ++i) {
    float* reach = reach_.data() + i * keys;
    const float* query = q.data() + i * keys;
    float* to = dq.data() + i * keys;
    const float change = changes[i * rows + j];
    if (i == first) {
      std::fill_n(reach, keys, 1.0f);
    } else {
      const float *before = reach - keys, *decay = e.data() + (i - behind) * keys;
      for (long long l = 0; l < keys; ++l) reach[l] = without_dust(before[l] * decay[l]);
    }
    float score = 0;
#pragma omp simd reduction(+ : score)
    for (long long l = 0; l < keys; ++l) {
      const float decayed = key[l] * reach[l];
      score += query[l] * decayed;
      to[l] += change * decayed;
    }
    scores[i * rows + j] = call.p.scale * score;
  }
  std::fill(run_.begin(), run_.end(), 0.0f);
  for (long long i = rows; i-- > first;) {
    const float* reach = reach_.data() + i * keys;
    const float* query = q.data() + i * keys;
    const float change = changes[i * rows + j];
    for (long long l = 0; l < keys; ++l) run_[l] += change * query[l] * reach[l];
    if (i == first || !call.has_gates()) continue;
    float* gate = dg.data() + (i - behind) * keys;
    for (long long l = 0; l < keys; ++l) gate[l] += run_[l] * key[l];
  }
  for (long long l = 0; l < keys; ++l) dk[j * keys + l] += run_[l];
}

void GradientChunk::intra(const GradientCall& call) {
  const long long keys = call.keys, width = call.width;
  for (std::vector<float>* x : {&dq, &dk, &dg}) std::fill_n(x->begin(), rows * keys, 0.0f);
  std::fill_n(scores.begin(), rows * rows, 0.0f);
  blas_product(rows, rows, width, {d_o.data(), width}, {v.data(), width, true}, 0.0f,
               changes.data(), rows);
  for (long long i = 0; i < rows * rows; ++i) changes[i] *= call.p.scale;
  for (long long j = 0; j < rows; ++j) {
    readers_of(call, j);
    if (call.before_update) own_token(call, j);
  }
  blas_product(rows, width, rows, {scores.data(), rows, true}, {d_o.data(), width}, 0.0f, dv.data(),
               width);
}

void GradientChunk::outer(const GradientCall& call, const float* read, const float* written,
                          const float* through) {
  const long long keys = call.keys, elements = rows * keys;
  if (call.has_gates()) {
    for (long long i = 0; i < elements; ++i) parts_[i] = prefix[i] * read[i];
    add_readers(call, rows, parts_.data(), dg.data());
    for (long long i = 0; i < elements; ++i) parts_[i] = suffix[i] * written[i];
    add_writers(call, rows, parts_.data(), dg.data());
    for (long long t = 0; t < rows; ++t)
      for (long long l = 0; l < keys; ++l) dg[t * keys + l] += through[l];
  }
  // The decays of q and k alone.
  std::fill_n(parts_.begin(), elements, 1.0f);
  scale_by_prefix(call, rows, e.data(), parts_.data(), run_.data());
  for (long long i = 0; i < elements; ++i) dq[i] += parts_[i] * read[i];
  std::fill_n(parts_.begin(), elements, 1.0f);
  scale_by_suffix(call, rows, e.data(), parts_.data());
  for (long long i = 0; i < elements; ++i) dk[i] += parts_[i] * written[i];
}

void GradientChunk::inter(const GradientCall& call, const float* state, const float* change) {
  const long long keys = call.keys, width = call.width;
  std::vector<float> through = scratch(keys);
  for (long long l = 0; l < keys; ++l) {
    float sum = 0;
    for (long long j = 0; j < width; ++j) sum += state[l * width + j] * change[l * width + j];
    through[l] = whole[l] * sum;
  }
  blas_product(rows, keys, width, {d_o.data(), width}, {state, width, true}, 0.0f, read_.data(),
               keys);
  blas_product(rows, keys, width, {v.data(), width}, {change, width, true}, 0.0f, written_.data(),
               keys);
  blas_product(rows, width, keys, {suffix.data(), keys}, {change, width}, 1.0f, dv.data(), width);
  outer(call, read_.data(), written_.data(), through.data());
}

void GradientChunk::advance(const GradientCall& call, float* state) const {
  decay_state(call.keys, call.width, whole.data(), state);
  blas_product(call.keys, call.width, rows, {suffix.data(), call.keys, true},
               {v.data(), call.width}, 1.0f, state, call.width);
}

void GradientChunk::retreat(const GradientCall& call, float* change) const {
  decay_state(call.keys, call.width, whole.data(), change);
  blas_product(call.keys, call.width, rows, {prefix.data(), call.keys, true},
               {d_o.data(), call.width}, 1.0f, change, call.width);
}

void GradientChunk::store(const GradientCall& call, const Rows& at) {
  store_gradients(call, at, {q.data(), k.data(), dq.data(), dk.data(), dv.data(), dg.data()},
                  sums.constant);
}

}  // namespace gla_bench::linear_recurrence::host
