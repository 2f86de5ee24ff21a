#include "kernels/linear_recurrence/host/chunk.hpp"

#include <algorithm>

#include "kernels/linear_recurrence/host/math.hpp"

namespace gla_bench::linear_recurrence::host {

// Running products are float64. Where decays are alike from token to token, so are the rounding
// errors of their products, which would add up over the chunks of a long sequence.
void scale_by_prefix(const Call& call, long long rows, const float* e, float* x, float* whole) {
  const long long keys = call.keys;
  const double scale = call.p.scale;
  std::vector<double> product(static_cast<std::size_t>(keys), 1.0);
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < keys; ++i) {
      const double before = product[i];
      product[i] = without_dust(before * e[t * keys + i]);
      x[t * keys + i] *= static_cast<float>(scale * (call.before_update ? before : product[i]));
    }
  for (long long i = 0; i < keys; ++i) whole[i] = static_cast<float>(product[i]);
}

void scale_by_suffix(const Call& call, long long rows, const float* e, float* x) {
  const long long keys = call.keys;
  std::vector<double> left(static_cast<std::size_t>(keys), 1.0);
  for (long long t = rows - 1; t >= 0; --t)
    for (long long i = 0; i < keys; ++i) {
      x[t * keys + i] *= static_cast<float>(left[i]);
      left[i] = without_dust(left[i] * e[t * keys + i]);
    }
}

void product_of_decays(const Call& call, long long rows, const float* e, float* whole) {
  std::vector<double> product(static_cast<std::size_t>(call.keys), 1.0);
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < call.keys; ++i)
      product[i] = without_dust(product[i] * e[t * call.keys + i]);
  for (long long i = 0; i < call.keys; ++i) whole[i] = static_cast<float>(product[i]);
}

namespace {

float dot(long long keys, const float* a, const float* b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long long l = 0; l < keys; ++l) sum += a[l] * b[l];
  return sum;
}

// carried *= decay. Returns the product of q with what is then left of it.
float dot_of_decayed(long long keys, const float* q, const float* decay, float* carried) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long long l = 0; l < keys; ++l) {
    carried[l] = without_dust(carried[l] * decay[l]);
    sum += q[l] * carried[l];
  }
  return sum;
}

float dot_of_three(long long keys, const float* a, const float* b, const float* c) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long long l = 0; l < keys; ++l) sum += a[l] * b[l] * c[l];
  return sum;
}

}  // namespace

void scores(const Call& call, long long rows, const float* q, const float* k, const float* e,
            const float* bonus, float* a, long long a_row, float* carried) {
  const long long keys = call.keys, behind = call.before_update ? 1 : 0;
  const float scale = call.p.scale;
  for (long long j = 0; j < rows; ++j) {
    std::copy_n(k + j * keys, keys, carried);
    if (call.before_update)
      a[j * a_row + j] = scale * dot_of_three(keys, q + j * keys, bonus, carried);
    // The first token that reads the key finds it whole, the next ones find it with their decays.
    // Before the update, a token's decay comes after its reading.
    const long long first = j + behind;
    if (first < rows) a[first * a_row + j] = scale * dot(keys, q + first * keys, carried);
    for (long long i = first + 1; i < rows; ++i)
      a[i * a_row + j] =
          scale * dot_of_decayed(keys, q + i * keys, e + (i - behind) * keys, carried);
  }
}

void add_lower_product(long long rows, long long n, const float* a, long long a_row, const float* v,
                       float* c) {
  constexpr long long strip = 8;
  for (long long i = 0; i < rows; i += strip) {
    const long long end = std::min(rows, i + strip);
    add_product(end - i, n, i, a + i * a_row, a_row, 1, v, n, c + i * n, n);
    for (long long r = i; r < end; ++r)
      add_product(1, n, r - i + 1, a + r * a_row + i, a_row, 1, v + i * n, n, c + r * n, n);
  }
}

void decay_state(long long keys, long long columns, const float* whole, float* state) {
  for (long long i = 0; i < keys; ++i)
    for (long long j = 0; j < columns; ++j) state[i * columns + j] *= whole[i];
}

Chunk::Chunk(const Call& call, long long chunk, long long columns_at_most)
    : q(scratch(chunk * call.keys)),
      k(q),
      e(q),
      v(scratch(chunk * (columns_at_most + call.extra))),
      o(v),
      a(scratch(chunk * chunk)),
      whole(scratch(call.keys)),
      bonus(whole),
      carried(whole) {}

void Chunk::load(const Call& call, const Rows& at) {
  rows = at.rows;
  width = at.columns + call.extra;
  load_keys(call, at, k.data());
  load_decays(call, at, e.data());
  load_values(call, at, v.data());
}

void Chunk::intra(const Call& call, const Rows& at) {
  load(call, at);
  load_queries(call, at, q.data());
  if (call.before_update) load_bonus(call, at.pair, bonus.data());
  scores(call, rows, q.data(), k.data(), e.data(), bonus.data(), a.data(), rows, carried.data());
  std::fill_n(o.data(), rows * width, 0.0f);
  add_lower_product(rows, width, a.data(), rows, v.data(), o.data());
}

void Chunk::inter(const Call& call, const float* state) {
  scale_by_prefix(call, rows, e.data(), q.data(), whole.data());
  add_product(rows, width, call.keys, q.data(), call.keys, 1, state, width, o.data(), width);
}

void Chunk::advance(const Call& call, float* state) {
  scale_by_suffix(call, rows, e.data(), k.data());
  decay_state(call.keys, width, whole.data(), state);
  add_product(call.keys, width, rows, k.data(), 1, call.keys, v.data(), width, state, width);
}

}  // namespace gla_bench::linear_recurrence::host
