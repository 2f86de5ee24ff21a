#include "kernels/linear_recurrence/host_chunk.hpp"

#include <algorithm>

#include "kernels/linear_recurrence/host_math.hpp"

namespace gla_bench::linear_recurrence::host {

void exponentiate(long long rows, long long keys, float* g) {
  for (long long i = 0; i < rows * keys; ++i) g[i] = exp_of_gate(g[i]);
}

void scale_by_prefix(long long rows, long long keys, const float* e, float scale, float* x,
                     float* whole) {
  std::fill_n(whole, keys, 1.0f);
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < keys; ++i) {
      whole[i] = without_dust(whole[i] * e[t * keys + i]);
      x[t * keys + i] *= scale * whole[i];
    }
}

void scale_by_suffix(long long rows, long long keys, const float* e, float* x) {
  std::vector<float> left(static_cast<std::size_t>(keys), 1.0f);
  for (long long t = rows - 1; t >= 0; --t)
    for (long long i = 0; i < keys; ++i) {
      x[t * keys + i] *= left[i];
      left[i] = without_dust(left[i] * e[t * keys + i]);
    }
}

void scores(long long rows, long long keys, const float* q, const float* k, const float* e,
            float scale, float* a, long long a_row, float* carried) {
  for (long long j = 0; j < rows; ++j) {
    std::copy_n(k + j * keys, keys, carried);
    for (long long i = j; i < rows; ++i) {
      const float* query = q + i * keys;
      const float* decay = e + i * keys;
      float sum = 0;
      if (i == j) {
#pragma omp simd reduction(+ : sum)
        for (long long l = 0; l < keys; ++l) sum += query[l] * carried[l];
      } else {
#pragma omp simd reduction(+ : sum)
        for (long long l = 0; l < keys; ++l) {
          carried[l] = without_dust(carried[l] * decay[l]);
          sum += query[l] * carried[l];
        }
      }
      a[i * a_row + j] = scale * sum;
    }
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
      v(scratch(chunk * columns_at_most)),
      o(v),
      a(scratch(chunk * chunk)),
      whole(scratch(call.keys)),
      carried(whole) {}

void Chunk::load_keys(const Call& call, const Rows& at) {
  rows = at.rows;
  columns = at.columns;
  const Rows all_keys{at.pair, at.first, at.rows, 0, call.keys};
  load(call, call.p.k, call.p.key_strides, all_keys, k.data());
  load(call, call.p.g, call.p.key_strides, all_keys, e.data());
  load(call, call.p.v, call.p.value_strides, at, v.data());
  exponentiate(rows, call.keys, e.data());
}

void Chunk::intra(const Call& call, const Rows& at) {
  load_keys(call, at);
  load(call, call.p.q, call.p.key_strides, {at.pair, at.first, at.rows, 0, call.keys}, q.data());
  scores(rows, call.keys, q.data(), k.data(), e.data(), call.p.scale, a.data(), rows,
         carried.data());
  std::fill_n(o.data(), rows * columns, 0.0f);
  add_lower_product(rows, columns, a.data(), rows, v.data(), o.data());
}

void Chunk::inter(const Call& call, const float* state) {
  scale_by_prefix(rows, call.keys, e.data(), call.p.scale, q.data(), whole.data());
  add_product(rows, columns, call.keys, q.data(), call.keys, 1, state, columns, o.data(), columns);
}

void Chunk::advance(const Call& call, float* state) {
  scale_by_suffix(rows, call.keys, e.data(), k.data());
  decay_state(call.keys, columns, whole.data(), state);
  add_product(call.keys, columns, rows, k.data(), 1, call.keys, v.data(), columns, state, columns);
}

}  // namespace gla_bench::linear_recurrence::host
